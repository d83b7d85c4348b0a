"""The act personal: finds, counts and redacts personal data and secrets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pipelines.clean.act import Effect
from pipelines.clean.nfc import replaced
from pipelines.personal.action import Action
from pipelines.personal.counts import counts
from pipelines.personal.find import find
from pipelines.personal.probe import OWN_PROBE_TEXTS
from pipelines.personal.redact import redact
from pipelines.personal.sample import sample_findings
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.rules.rule import Rule, Side
from pipelines.spec.personal import PersonalSpec
from pipelines.transform import Transform

# Raised when a pattern or a check changes its meaning.
_REVISION = 1
# Documents of a sample, a kind.
SAMPLE_PER_KIND = 20


class Personal:
    """Finds the kinds of a spec, counts them, redacts those that are to be.

    Counts are of the text as it was before.
    """

    name = "personal"

    def __init__(self, spec: PersonalSpec) -> None:
        self._spec = spec
        self._kinds = spec.kinds()
        self._actions = {name: Action(action) for name, action in spec.actions}
        self.columns = tuple(pa.field(kind.signal.name, pa.int64()) for kind in self._kinds)

    def transform(self) -> Transform:
        """What a build key knows of it: kinds in order, own patterns, which are redacted."""
        texts = pa.array([*PROBE_TEXTS, *OWN_PROBE_TEXTS], pa.large_string())
        findings = find(texts, self._kinds)
        shown = replaced(texts, *redact(texts, findings, self._actions)).to_pylist()
        rows = np.stack([*counts(findings, len(texts)).values()], axis=1).tolist()
        outputs = (f"{row} {text}".encode() for row, text in zip(rows, shown, strict=True))
        return Transform(self.name, _REVISION, self._parameters(), behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Counts findings, redacts them, and shows a sample masked."""
        texts = documents["text"].combine_chunks()
        ids = documents["document_id"].combine_chunks()
        findings = find(texts, self._kinds)
        signals = counts(findings, len(texts))
        return Effect(
            *redact(texts, findings, self._actions),
            signals={name: pa.array(values) for name, values in signals.items()},
            findings=sample_findings(texts, findings, ids, SAMPLE_PER_KIND),
        )

    def _parameters(self) -> dict[str, str | int | None]:
        redacted = [k.name for k in self._kinds if self._actions[k.name] is Action.REDACT]
        names = [kind.name for kind in self._kinds]
        parameters: dict[str, str | int | None] = {
            "kinds": " ".join(names),
            "redacted": " ".join(redacted),
        }
        for own in self._spec.own:
            parameters[f"{own.name}.pattern"] = own.pattern
            parameters[f"{own.name}.literal"] = own.literal
            parameters[f"{own.name}.digits"] = own.digits
            parameters[f"{own.name}.check"] = own.check
        return parameters


def rules_of(spec: PersonalSpec) -> tuple[Rule, ...]:
    """A rule for each kind whose documents are dropped, in the order of the spec."""
    return tuple(
        Rule(f"personal.{name}", f"personal_{name}", Side.MAX, 0)
        for name, action in spec.actions
        if action == Action.DROP
    )
