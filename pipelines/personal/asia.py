"""National numbers of Asia."""

from __future__ import annotations

from datetime import date

from pipelines.personal.around import AFTER, BEFORE, bare, said_before
from pipelines.personal.checks import mod11_2, verhoeff, weighted
from pipelines.personal.kind import Digits, Form, Kind, Mask

_AADHAAR = BEFORE + rb"[2-9][0-9]{3}(?P<mark>[ -]?)[0-9]{4}(?P=mark)[0-9]{4}" + AFTER
_AADHAAR_WORDS = said_before("aad?haar|aadhar|uidai?|\u0906\u0927\u093e\u0930")


def _is_aadhaar(text: bytes, start: int, end: int) -> bool:
    return verhoeff(bare(text[start:end])) and _AADHAAR_WORDS(text, start, end)


IN_AADHAAR = Kind(
    "in_aadhaar",
    "Aadhaar numbers of India",
    (Form((Digits(12),), _AADHAAR, _is_aadhaar, (0, 4)),),
    Mask.NUMBER,
)

_RRN = BEFORE + rb"[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])-[0-8][0-9]{6}" + AFTER
_RRN_CENTURIES = (1800, 1900, 1900, 2000, 2000, 1900, 1900, 2000, 2000)
# Numbers given from then on end in a digit of chance.
_RRN_UNCHECKED = date(2020, 10, 1)


def _is_rrn(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    year = _RRN_CENTURIES[int(digits[6:7])] + int(digits[:2])
    born = _date(year, int(digits[2:4]), int(digits[4:6]))
    if born is None:
        return False
    total = weighted(digits[:12], (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5))
    return born >= _RRN_UNCHECKED or (11 - total % 11) % 10 == digits[12] - 48


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


KR_RRN = Kind(
    "kr_rrn",
    "resident registration numbers of Korea",
    (Form((Digits(13),), _RRN, _is_rrn, (0, 4)),),
    Mask.NUMBER,
)

_RESIDENT_ID = (
    BEFORE
    + rb"[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]"
    + AFTER
)


def _is_resident_id(text: bytes, start: int, end: int) -> bool:
    number = text[start:end]
    born = _date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    return born is not None and mod11_2(number)


CN_RESIDENT_ID = Kind(
    "cn_resident_id",
    "resident identity numbers of China",
    (Form((Digits(17),), _RESIDENT_ID, _is_resident_id, (0, 4)),),
    Mask.NUMBER,
)

_MY_NUMBER = BEFORE + rb"[0-9]{4}(?P<mark>[ -]?)[0-9]{4}(?P=mark)[0-9]{4}" + AFTER
_MY_NUMBER_WORDS = said_before("my ?number|個人番号|個人番號|マイナンバー")


def _is_my_number(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    rest = weighted(digits[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    last = 0 if rest < 2 else 11 - rest
    return last == digits[11] - 48 and len({*digits}) > 1 and _MY_NUMBER_WORDS(text, start, end)


JP_MY_NUMBER = Kind(
    "jp_my_number",
    "individual numbers of Japan",
    (Form((Digits(12),), _MY_NUMBER, _is_my_number, (0, 4)),),
    Mask.NUMBER,
)
