"""National numbers of Europe."""

from __future__ import annotations

from pipelines.personal.around import AFTER, BEFORE, bare, said_before
from pipelines.personal.checks import mod11_10, weighted
from pipelines.personal.kind import Digits, Form, Kind, Mask, Trigger

_DNI = (
    rb"(?<![0-9A-Za-z_.,+/%#&-])(?:[0-9]{8}|[XYZ]-?[0-9]{7}|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3})"
    rb"[ -]?[A-HJ-NP-TV-Z](?![0-9A-Za-z_])"
)
_DNI_LETTERS = b"TRWAGMYFPDXBNJZSQVHLCKE"
_DNI_WORDS = said_before(r"d\.?n\.?i\.?|n\.?i\.?[fe]\.?|documento|identidad|cédula")


def _is_dni(text: bytes, start: int, end: int) -> bool:
    letters = bare(text[start:end])
    number = letters[:-1].translate(bytes.maketrans(b"XYZ", b"012"))
    valid = _DNI_LETTERS[int(number) % 23] == letters[-1]
    foreigner = letters[:1] in b"XYZ"
    written = foreigner or text[end - 2 : end - 1] == b"-" or b"." in text[start:end]
    return valid and (written or _DNI_WORDS(text, start, end))


ES_DNI = Kind(
    "es_dni",
    "DNI and NIE numbers of Spain",
    (Form((Digits(7),), _DNI, _is_dni, (2, 4)),),
    Mask.NUMBER,
)

_NIR_HEAD = BEFORE + rb"[123478](?P<mark> ?)[0-9]{2}(?P=mark)(?:0[1-9]|1[0-2]|[2-9][0-9])(?P=mark)"
_NIR_TAIL = rb"(?P=mark)[0-9]{3}(?P=mark)[0-9]{3} ?[0-9]{2}" + AFTER
_NIR = _NIR_HEAD + rb"[0-9]{2}" + _NIR_TAIL
_NIR_OF_CORSICA = _NIR_HEAD + rb"2[AB]" + _NIR_TAIL


def _is_nir(text: bytes, start: int, end: int) -> bool:
    letters = bare(text[start:end])
    number = int(letters[:13].replace(b"2A", b"19").replace(b"2B", b"18"))
    return 97 - number % 97 == int(letters[13:])


FR_NIR = Kind(
    "fr_nir",
    "social security numbers of France (NIR)",
    (
        Form((Digits(15),), _NIR, _is_nir, (0, 4)),
        # The letter ends a stretch of digits: eight stand behind it.
        Form((Digits(8),), _NIR_OF_CORSICA, _is_nir, (12, 4)),
    ),
    Mask.NUMBER,
)

_STEUER_ID = BEFORE + rb"[1-9][0-9](?P<mark> ?)[0-9]{3}(?P=mark)[0-9]{3}(?P=mark)[0-9]{3}" + AFTER
_STEUER_WORDS = said_before(
    "steuer-?id|steuer-?idnr|id-?nr|identifikationsnummer|steuer-?identifikationsnummer|"
    "steuernummer|tin|tax id"
)


def _is_steuer_id(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    # Of the first ten digits one stands twice or three times, so that one or two are missing.
    repeated = len({*digits[:10]}) in {8, 9}
    return repeated and mod11_10(digits) and _STEUER_WORDS(text, start, end)


DE_STEUER_ID = Kind(
    "de_steuer_id",
    "tax numbers of Germany (Steuer-ID)",
    (Form((Digits(11),), _STEUER_ID, _is_steuer_id, (0, 4)),),
    Mask.NUMBER,
)

# Letters stand for digits where two people would have one and the same code.
_DIGIT = rb"[0-9LMNPQRSTUV]"
_CODICE = (
    rb"(?<![0-9A-Za-z_])[A-Z]{6}%(d)s{2}[ABCDEHLMPRST]%(d)s{2}[A-Z]%(d)s{3}[A-Z](?![0-9A-Za-z_])"
) % {b"d": _DIGIT}
_ODD = (
    1,
    0,
    5,
    7,
    9,
    13,
    15,
    17,
    19,
    21,
    2,
    4,
    18,
    20,
    11,
    3,
    6,
    8,
    12,
    14,
    16,
    10,
    22,
    25,
    24,
    23,
)


def _is_codice(text: bytes, start: int, end: int) -> bool:
    letters = text[start:end]
    values = [letter - (48 if letter < 58 else 65) for letter in letters[:-1]]
    total = sum(_ODD[value] for value in values[::2]) + sum(values[1::2])
    return total % 26 == letters[-1] - 65


IT_CODICE_FISCALE = Kind(
    "it_codice_fiscale",
    "tax codes of Italy (codice fiscale)",
    (Form((Trigger.CAPITALS_6,), _CODICE, _is_codice),),
    Mask.NUMBER,
)

_PESEL = (
    BEFORE + rb"[0-9]{2}(?:[02468][1-9]|[13579][0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{5}" + AFTER
)
_PESEL_WORDS = said_before("pesel|peselu|peselem")


def _is_pesel(text: bytes, start: int, end: int) -> bool:
    digits = text[start:end]
    valid = weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0
    return valid and _PESEL_WORDS(text, start, end)


PL_PESEL = Kind(
    "pl_pesel",
    "PESEL numbers of Poland",
    (Form((Digits(11),), _PESEL, _is_pesel, (0, 4)),),
    Mask.NUMBER,
)

_BSN = BEFORE + rb"(?:[0-9]{9}|[0-9]{4}\.[0-9]{2}\.[0-9]{3})" + AFTER
_BSN_WORDS = said_before(r"bsn|b\.s\.n\.|burgerservicenummer|sofi|sofi-?nummer|btw")


def _is_bsn(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    valid = weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and len({*digits}) > 1
    return valid and _BSN_WORDS(text, start, end)


NL_BSN = Kind(
    "nl_bsn",
    "citizen service numbers of the Netherlands (BSN)",
    (Form((Digits(9),), _BSN, _is_bsn, (0, 4)),),
    Mask.NUMBER,
)
