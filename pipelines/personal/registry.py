"""The kinds that are built in, and the making of a user's own."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import ConfigError
from pipelines.personal.addresses import EMAIL, IP
from pipelines.personal.americas import CNPJ, CPF, US_SSN
from pipelines.personal.api_tokens import API_TOKEN
from pipelines.personal.asia import CN_RESIDENT_ID, IN_AADHAAR, JP_MY_NUMBER, KR_RRN
from pipelines.personal.checks import CHECKS
from pipelines.personal.europe import (
    DE_STEUER_ID,
    ES_DNI,
    FR_NIR,
    IT_CODICE_FISCALE,
    NL_BSN,
    PL_PESEL,
)
from pipelines.personal.kind import Check, Digits, Kind, Literal, Mask, OwnForm, always
from pipelines.personal.payments import CARD, IBAN
from pipelines.personal.phones import PHONE
from pipelines.personal.private_keys import PRIVATE_KEY

# Where two overlap the earlier one wins: what is longest and surest stands first.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        PRIVATE_KEY,
        API_TOKEN,
        EMAIL,
        IBAN,
        CARD,
        IT_CODICE_FISCALE,
        CN_RESIDENT_ID,
        FR_NIR,
        CNPJ,
        CPF,
        US_SSN,
        KR_RRN,
        ES_DNI,
        DE_STEUER_ID,
        PL_PESEL,
        NL_BSN,
        IN_AADHAAR,
        JP_MY_NUMBER,
        PHONE,
        IP,
    )
}


def own_kind(
    name: str, pattern: str, literal: str | None, digits: int | None, check: str | None
) -> Kind:
    r"""A user's own kind: what a pattern matches near a literal, or near digits.

    A match is looked for in the line of the anchor, at most 256 bytes before and after it.

    Args:
        name: lower-case letters, digits and underscores; no kind that is built in.
        pattern: regular expression of RE2 (no look-around, no back references).
        literal: what stands in or near every match, or None.
        digits: how many digits stand in every match at least, with few marks between; or None.
        check: one of `CHECKS`, over the digits of a match (mod97: and its letters; mod11_2: and
            its X); or None.

    Raises:
        ConfigError: not RE2, groups, a pattern that matches nothing at all, or a literal that
            has no two neighbours that are no digit, at sign, colon or line feed.
    """
    blank = pa.array([" "], pa.large_string())
    try:
        # By itself as well: a bracket too many would close the group around it.
        pc.match_substring_regex(blank, pattern)
        found = pc.extract_regex_span(blank, search_pattern(pattern))
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"the pattern of {name} is not understood: {reason}",
            "write it for RE2: groups as (?:...), no look-around, no back references",
        ) from None
    if found[0].is_valid:
        raise ConfigError(f"the pattern of {name} matches the empty text", "let it match more")
    if literal is not None and not usable_pairs(literal.encode()):
        raise ConfigError(
            f"the literal of {name} cannot be looked for",
            "it needs two neighbours that are no digit, at sign, colon or line feed",
        )
    anchor = Digits(digits or 0) if literal is None else Literal(literal.encode())
    form = OwnForm(anchor, pattern, _bare_check(check))
    return Kind(name, f"findings of the own kind {name}", (form,), Mask.NOTHING)


def search_pattern(pattern: str) -> str:
    """A pattern that finds the first match behind the first character of a text."""
    return rf"\A(?s:.)(?s:.*?)(?P<found>{pattern})"


def usable_pairs(literal: bytes) -> list[int]:
    """Places in a literal by whose byte and the one before it a scan can find it."""
    taken = b"0123456789@:\n"
    pairs = range(1, len(literal))
    return [at for at in pairs if literal[at] not in taken and literal[at - 1] not in taken]


def _bare_check(name: str | None) -> Check:
    if name is None:
        return always
    method, letters = CHECKS[name], _LETTERS_OF_CHECK.get(name, b"")
    dropped = bytes(byte for byte in range(256) if byte not in b"0123456789" + letters)
    return lambda text, start, end: method(text[start:end].upper().translate(None, dropped))


# The letters that count as well as digits.
_LETTERS_OF_CHECK = {"mod97": b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "mod11_2": b"X"}
