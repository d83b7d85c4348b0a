"""Telephone numbers: international ones, common national forms, and what a word introduces."""

from __future__ import annotations

import re

from pipelines.personal.around import AFTER, BEFORE, SEPARATOR, bare, introduced_by
from pipelines.personal.kind import Digits, Form, Kind, Mask

# What may stand before a number that begins with a plus or a bracket.
_OPEN = rb"(?<![0-9A-Za-z_.+/(%-])"
_MARKS = rb"(?:%s|[/()]){0,3}" % SEPARATOR
_INTERNATIONAL = (
    rb"(?<![0-9A-Za-z_.+/%%*^-])\+[1-9](?:%(marks)s[0-9]){7,16}+" % {b"marks": _MARKS}
) + AFTER

# Countries by calling code, with the digits that follow it.
_NATIONAL_DIGITS = {
    b"1": (10, 10),
    b"7": (10, 10),
    b"30": (10, 10),
    b"31": (9, 10),
    b"33": (9, 10),
    b"34": (9, 9),
    b"39": (6, 12),
    b"41": (9, 10),
    b"44": (9, 11),
    b"48": (9, 9),
    b"49": (6, 13),
    b"52": (10, 11),
    b"54": (10, 11),
    b"55": (10, 11),
    b"61": (9, 10),
    b"81": (9, 11),
    b"82": (8, 11),
    b"86": (10, 11),
    b"90": (10, 10),
    b"91": (10, 10),
}
_CALLING_CODE = re.compile(
    rb"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
    rb"|2(?:1[12368]|[2-6][0-9]|9[0178])|3(?:[57][0-9]|8[0-35-79])|42[0-3]"
    rb"|5(?:0[0-9]|9[0-9])|6(?:7[0-9]|8[0-9]|9[0-2])|8(?:00|08|5[0256]|7[08]|8[0-368])"
    rb"|9(?:6[0-8]|7[0-9]|9[2-68])"
)


def _is_international(text: bytes, start: int, end: int) -> bool:
    number = text[start:end]
    digits = bare(number.replace(b"(0)", b""))
    code = _CALLING_CODE.match(digits)
    if code is None or not 8 <= len(digits) <= 15 or number.count(b".") == 1:
        return False
    low, high = _NATIONAL_DIGITS.get(code[0], (7, 12))
    national = digits[code.end() :]
    area = code[0] != b"1" or national[:1] in b"23456789"
    return low <= len(national) <= high and area and len({*national}) > 1


# The North American plan: area and exchange begin with 2 to 9.
_NANP = (
    rb"(?:%s(?:1[ .-])?\([2-9][0-9]{2}\)[ ]?[2-9][0-9]{2}[ .-][0-9]{4}"
    rb"|%s(?:1(?P<one>[.-]))?[2-9][0-9]{2}(?P<mark>[.-])[2-9][0-9]{2}(?P=mark)[0-9]{4})"
) % (_OPEN, BEFORE) + AFTER
# Forms that begin with the area's code and a zero, or are grouped as no other number is.
_NATIONAL = (
    rb"(?:%(open)s\(0?[1-9][1-9]\)[ ]?9?[0-9]{4}[ .-][0-9]{4}"  # Brazil
    rb"|%(before)s0[1-9](?P<fr>[ .-]|\xc2\xa0|\xe2\x80\xaf)[0-9]{2}(?:(?P=fr)[0-9]{2}){3}"  # France
    rb"|%(before)s0(?:20 [378][0-9]{3} [0-9]{4}|7[0-9]{3} ?[0-9]{3} ?[0-9]{3}|1[0-9]{3} [0-9]{6}"
    rb"|1[0-9]1 [0-9]{3} [0-9]{4})"  # United Kingdom
    rb"|%(before)s0[1-9][0-9]{0,2}-[0-9]{1,4}-[0-9]{4}"  # Japan, Korea
    rb"|%(before)s1[3-9][0-9](?P<cn>[ -])[0-9]{4}(?P=cn)[0-9]{4}"  # China, mobile
    rb"|%(before)s0[1-9][0-9]{1,2}-[1-9][0-9]{6,7}"  # China, fixed
    rb"|%(open)s\(0[1-9][0-9]{1,4}\)[ ]?[1-9][0-9 -]{4,8}[0-9]"  # Germany, China, Britain
    rb"|%(before)s0[1-9][0-9]{1,3}/[1-9][0-9]{4,7}"  # Germany
    rb"|%(before)s8 ?[(-][3-9][0-9]{2}[)-] ?[0-9]{3}-[0-9]{2}-[0-9]{2})"  # Russia
) % {b"open": _OPEN, b"before": BEFORE} + AFTER


_BEFORE_IN_TABLE = re.compile(rb"(?<![0-9A-Za-z])[0-9A-Fa-f]{1,8}[ .]{1,2}\Z")
_AFTER_IN_TABLE = re.compile(rb"[ .]{1,2}[0-9A-Fa-f]{1,8}(?![0-9A-Za-z])")


def _is_national(text: bytes, start: int, end: int) -> bool:
    number = text[start:end]
    digits = bare(number)
    if not 9 <= len(digits) <= 12 or len({*digits}) <= 3:
        return False
    # Numbers in a table, and bytes of a dump, look like groups of a telephone number.
    spaced = b" " in number or b"." in number
    return not spaced or not (
        _BEFORE_IN_TABLE.search(text, max(0, start - 12), start) or _AFTER_IN_TABLE.match(text, end)
    )


_WORDS = introduced_by(
    (
        *("tel", "tele", "telephone", "telephones", "phone", "phones", "fax", "telefax", "tfn"),
        *(
            "telefon",
            "telefono",
            "telefone",
            "telefoon",
            "telefonnummer",
            "tél",
            "téléphone",
        ),
        *(
            "teléfono",
            "teléfonos",
            "mobile",
            "mobil",
            "mob",
            "móvil",
            "cell",
            "cellphone",
        ),
        *(
            "cellular",
            "cellulare",
            "celular",
            "handy",
            "dial",
            "sms",
            "call",
            "calling",
            "whatsapp",
        ),
        *("rufnummer", "ligue", "ramal", "\u0442\u0435\u043b", "\u0422\u0435\u043b"),
        *(
            "\u0442\u0435\u043b\u0435\u0444\u043e\u043d",
            "\u0422\u0435\u043b\u0435\u0444\u043e\u043d",
        ),
        *(
            "电话",
            "電話",
            "手机",
            "手機",
            "전화",
            "\u0647\u0627\u062a\u0641",
            "\u092b\u093c\u094b\u0928",
        ),
    ),
    (
        " no",
        " nr",
        " number",
        " numbers",
        " num",
        " nº",
        " n°",
        " at",
        " us at",
        " me at",
    ),
)
# What a word introduces begins where its digits do, or at a bracket before them.
_INTRODUCED = (
    rb"(?<![0-9A-Za-z_+/])(?:[0-9]{1,5}\)%(mark)s?)?[0-9](?:(?:%(mark)s|/)?[0-9]){6,14}+"
    % {b"mark": SEPARATOR}
) + AFTER
_DATE_OR_IP = re.compile(
    rb"(?:19|20)[0-9]{2}[./ -](?:0[1-9]|1[0-2])[./ -][0-9]{2}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z"
)


def _is_introduced(text: bytes, start: int, end: int) -> bool:
    number = text[start:end]
    digits = bare(number)
    plain = 7 <= len(digits) <= 15 and len({*digits}) > 2 and number.count(b".") != 1
    return plain and not _DATE_OR_IP.match(number) and _WORDS(text, start, end)


PHONE = Kind(
    "phone",
    "telephone numbers",
    (
        Form((Digits(8),), _INTERNATIONAL, _is_international, (2, 4), b"+"),
        Form((Digits(10),), _NANP, reach=(1, 4)),
        Form((Digits(9),), _NATIONAL, _is_national, (1, 4)),
        Form((Digits(7),), _INTRODUCED, _is_introduced),
    ),
    Mask.PHONE,
)
