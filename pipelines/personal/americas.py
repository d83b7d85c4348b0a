"""National numbers of the Americas: SSN of the United States, CPF and CNPJ of Brazil."""

from __future__ import annotations

from pipelines.personal.around import AFTER, BEFORE, bare, said_before
from pipelines.personal.checks import weighted
from pipelines.personal.kind import Digits, Form, Kind, Literal, Mask, Trigger

_SSN = (
    BEFORE + rb"(?!000|666|9)[0-9]{3}(?P<mark>[ -]?)(?!00)[0-9]{2}(?P=mark)(?!0000)[0-9]{4}" + AFTER
)
# Printed on sample cards and in advertisements; never a person's.
_SAMPLES = (b"078051120", b"219099999")
_SSN_WORDS = said_before("ssn|ss#|social|social security|tax id|taxpayer id|tin|itin")


def _is_ssn(text: bytes, start: int, end: int) -> bool:
    number = text[start:end]
    written = number[3:4] == b"-" or _SSN_WORDS(text, start, end)
    return written and bare(number) not in _SAMPLES


US_SSN = Kind(
    "us_ssn",
    "Social Security numbers of the United States",
    (Form((Digits(9),), _SSN, _is_ssn, (0, 4)),),
    Mask.NUMBER,
)

_CPF = BEFORE + rb"(?:[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9]{9}-?[0-9]{2})" + AFTER
_CPF_WORDS = said_before("cpf|pessoas? físicas?|contribuinte|documento")


def _remainder(number: bytes, weights: tuple[int, ...]) -> int:
    rest = weighted(number, weights) % 11
    return 0 if rest < 2 else 11 - rest


def _is_cpf(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    first = _remainder(digits[:9], tuple(range(10, 1, -1)))
    second = _remainder(digits[:10], tuple(range(11, 1, -1)))
    valid = digits[9:] == b"%d%d" % (first, second) and len({*digits}) > 1
    # Any of a hundred bare numbers passes: it takes the dots, or a word that says so.
    return valid and (end - start == 14 or _CPF_WORDS(text, start, end))


CPF = Kind(
    "cpf",
    "CPF numbers of Brazil",
    (Form((Digits(11),), _CPF, _is_cpf, (0, 4)),),
    Mask.NUMBER,
)

_ALNUM = rb"[0-9A-Z]"
_CNPJ_WRITTEN = (
    rb"(?<![0-9A-Za-z_.,+/%%#&-])%(a)s{2}\.%(a)s{3}\.%(a)s{3}/%(a)s{4}-[0-9]{2}" % {b"a": _ALNUM}
) + AFTER
_CNPJ_SAID = (
    rb"(?i:cnpj)(?:/MF)?(?: ?n?(?:\xc2\xba|\xc2\xb0|o\.?))?[ :=.#\"'-]{0,6}"
    rb"(?P<found>[0-9A-Z]{12}-?[0-9]{2})"
) + AFTER
_CNPJ_WEIGHTS = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)


def _is_cnpj(text: bytes, start: int, end: int) -> bool:
    """Since July 2026 the first twelve may be letters; a letter counts its code less 48."""
    letters = bare(text[start:end])
    first = _remainder(letters[:12], _CNPJ_WEIGHTS[1:])
    second = _remainder(letters[:13], _CNPJ_WEIGHTS)
    return letters[12:] == b"%d%d" % (first, second) and len({*letters}) > 1


CNPJ = Kind(
    "cnpj",
    "CNPJ numbers of Brazil",
    (
        Form((Trigger.SLASHED,), _CNPJ_WRITTEN, _is_cnpj),
        Form((Literal(b"CNPJ"), Literal(b"cnpj"), Literal(b"Cnpj")), _CNPJ_SAID, _is_cnpj),
    ),
    Mask.NUMBER,
)
