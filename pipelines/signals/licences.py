"""The act licences: what licence a document is under, and whether the policy allows it.

A record's own word goes before the licence of its source. Addresses of Creative Commons
and common spellings are read; of ``A OR B`` one side has to be allowed, of ``A AND B`` both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import ConfigError
from pipelines.clean.act import Effect
from pipelines.licence import canonical_licence, parsed_licence
from pipelines.probe import behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.spec.licences import LicencesSpec
from pipelines.transform import Transform

ALLOWED, UNKNOWN, DENIED = 0, 1, 2
_REVISION = 1
_CREATIVE_COMMONS = re.compile(
    r"(?:https?:)?//(?:www\.)?creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/(\d\.\d)"
)
_SPELLED_CC = re.compile(r"cc[ -](by(?:[ -](?:nc|nd|sa))*)[ -](?:v\.? ?)?(\d\.\d)\Z")
# Spellings that are common in metadata, in lower case and without a final "license".
_SPELLINGS = {
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "mit": "MIT",
    "the mit": "MIT",
    "bsd 2-clause": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "cc0": "CC0-1.0",
    "cc0 1.0": "CC0-1.0",
    "gplv2": "GPL-2.0-only",
    "gplv3": "GPL-3.0-only",
    "gpl v2": "GPL-2.0-only",
    "gpl v3": "GPL-3.0-only",
    "mpl 2.0": "MPL-2.0",
    "unlicense": "Unlicense",
    "isc": "ISC",
}
_PROBE = (
    "mit",
    "MIT OR GPL-2.0-only",
    "MIT AND GPL-2.0-only",
    "GPL-2.0-only WITH Classpath-exception-2.0",
    "https://creativecommons.org/licenses/by-sa/4.0/deed.pt",
    "http://creativecommons.org/publicdomain/zero/1.0/",
    "CC BY-NC-ND 3.0",
    "Apache License 2.0",
    "LicenseRef-own",
    "all rights reserved",
    "",
)


class Licences:
    """Judges licences: the signals ``licence_spdx`` and ``licence_status``.

    The status is 0 for allowed, 1 for unknown, 2 for denied.

    Args:
        sources: the licence of each source by name.
    """

    name = "licences"
    columns = (pa.field("licence_spdx", pa.string()), pa.field("licence_status", pa.int64()))

    def __init__(self, spec: LicencesSpec, sources: Mapping[str, str]) -> None:
        self._spec, self._sources = spec, sources

    def transform(self) -> Transform:
        """What a build key knows of it: the policy, and the licences of the sources."""
        outputs = (f"{spdx_of(word)} {self._status(spdx_of(word))}".encode() for word in _PROBE)
        parameters: dict[str, str | int | None] = {
            "allowed": " ".join(self._spec.allowed),
            "denied": " ".join(self._spec.denied),
        }
        parameters |= {f"source.{name}": licence for name, licence in self._sources.items()}
        return Transform(self.name, _REVISION, parameters, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Judges each distinct licence once."""
        names = list(self._sources)
        own = pa.array([self._sources[name] for name in names], pa.string())
        of_source = own.take(pc.index_in(documents["source"], pa.array(names)).combine_chunks())
        words = pc.coalesce(documents["licence"].combine_chunks(), of_source).dictionary_encode()
        found = [None if word is None else spdx_of(word) for word in words.dictionary.to_pylist()]
        statuses = np.array([*(self._status(spdx) for spdx in found), UNKNOWN], np.int64)
        which = np.asarray(pc.fill_null(words.indices, len(found)))
        spdx = pa.array([*found, None], pa.string()).take(pa.array(which))
        return Effect(signals={"licence_spdx": spdx, "licence_status": pa.array(statuses[which])})

    def _status(self, spdx: str | None) -> int:
        if spdx is None:
            return UNKNOWN
        return self._judged(parsed_licence(spdx))

    def _judged(self, expression: object) -> int:
        parts = [self._judged(part) for part in getattr(expression, "args", ())]
        if parts:
            return min(parts) if getattr(expression, "operator", "").strip() == "OR" else max(parts)
        # A licence with an exception is judged as the licence itself.
        name = str(getattr(expression, "license_symbol", expression))
        if name in self._spec.denied:
            return DENIED
        return ALLOWED if not self._spec.allowed or name in self._spec.allowed else DENIED


def licence_rules(spec: LicencesSpec) -> tuple[Rule, ...]:
    """What drops: denied licences, and unknown ones where the policy says so."""
    denied = Rule("licences.denied", "licence_status", Side.MAX, UNKNOWN)
    if spec.unknown == "keep":
        return (denied,)
    return (denied, Rule("licences.unknown", "licence_status", Side.MAX, ALLOWED))


@cache
def spdx_of(word: str) -> str | None:
    """The SPDX expression that somebody means, or None where nobody can tell."""
    text = " ".join(word.split())
    match = _CREATIVE_COMMONS.match(text.lower())
    if match is not None:
        kind, code, version = match.groups()
        zero = {"zero": f"CC0-{version}", "mark": "LicenseRef-PDM-1.0"}
        text = zero.get(code, text) if kind == "publicdomain" else f"CC-{code}-{version}"
    else:
        bare = text.lower().removesuffix(" license").removesuffix(" licence")
        spelled = _SPELLED_CC.match(bare)
        if spelled is not None:
            text = f"CC-{spelled[1].replace(' ', '-')}-{spelled[2]}"
        text = _SPELLINGS.get(bare, text)
    try:
        return canonical_licence(text)
    except ConfigError:
        return None
