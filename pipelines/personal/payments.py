"""Payment cards and bank accounts."""

from __future__ import annotations

import re

from pipelines.personal.around import AFTER, BEFORE, bare, said_before
from pipelines.personal.checks import luhn, mod97
from pipelines.personal.kind import Digits, Form, Kind, Mask, Trigger

# Groups as they are printed on cards, with one and the same mark between them.
_CARD = (
    BEFORE
    + (
        rb"(?:[2-68][0-9]{3}(?P<mark>[ -]|\xc2\xa0)[0-9]{4}(?P=mark)[0-9]{4}(?P=mark)[0-9]{4}"
        rb"(?:(?P=mark)[0-9]{3})?+|3[0-9]{3}(?P<other>[ -]|\xc2\xa0)[0-9]{6}(?P=other)[0-9]{4,5}"
        rb"|[2-68][0-9]{12,18})"
    )
    + AFTER
)
# Who issues a number that begins so, and the lengths that it gives out (ISO/IEC 7812).
_ISSUERS = tuple(
    (re.compile(prefixes), lengths)
    for prefixes, lengths in (
        (rb"4", {13, 16, 19}),  # Visa
        (rb"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720", {16}),  # Mastercard
        (rb"3[47]", {15}),  # American Express
        (rb"30[0-5]|309|36|3[89]", {14, 16, 19}),  # Diners Club
        (rb"6011|64[4-9]|65", {16, 19}),  # Discover
        (rb"35(?:2[89]|[3-8])", {16, 19}),  # JCB
        (rb"62|8[12]", {16, 17, 18, 19}),  # UnionPay, RuPay
        (rb"50(?:18|20|38)|5[6-8]|6304|6759|676[1-3]", {16, 17, 18, 19}),  # Maestro
        (rb"220[0-4]", {16}),  # Mir
        (rb"5041|506[67]|508|509|6277|636[23]|60", {16}),  # Elo, Hipercard, RuPay
    )
)
_CARD_WORDS = said_before(
    "cards?|credit|debit|visa|mastercard|amex|maestro|cartão|tarjeta|carte|carta|kreditkarte|"
    "karte|pan|cc|信用卡|银行卡|卡号|カード"
)


def _is_card(text: bytes, start: int, end: int) -> bool:
    digits = bare(text[start:end])
    issued = any(len(digits) in sizes and prefix.match(digits) for prefix, sizes in _ISSUERS)
    if not issued or len({*digits}) == 1 or not luhn(digits):
        return False
    # Bare numbers of 13 digits are bar codes and times, those of 17 to 19 are 64-bit integers.
    plain = len(digits) == end - start and len(digits) not in {14, 15, 16}
    return not plain or _CARD_WORDS(text, start, end)


CARD = Kind(
    "card", "payment card numbers", (Form((Digits(13),), _CARD, _is_card, (0, 4)),), Mask.CARD
)

# The length of an IBAN by country: the registry of SWIFT.
_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE HN KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB NI PL SV YE",
        29: "BR EG PS QA UA",
        30: "JO KW MU",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
_GAP = rb"(?:[ -]|\xc2\xa0)?"


def _of_length(length: int) -> bytes:
    countries = "|".join(country for country in _LENGTHS if _LENGTHS[country] == length)
    groups, rest = divmod(length - 4, 4)
    last = rb"%s[0-9A-Z]{%d}" % (_GAP, rest) if rest else b""
    head = rb"(?:%s)[0-9]{2}(?:%s[0-9A-Z]{4}){%d}"
    return head % (countries.encode(), _GAP, groups) + last


_IBAN = rb"(?<![0-9A-Za-z])(?:%s)(?![0-9A-Za-z])" % b"|".join(
    _of_length(length) for length in sorted({*_LENGTHS.values()})
)


def _is_iban(text: bytes, start: int, end: int) -> bool:
    letters = bare(text[start:end])
    return sum(letter < 58 for letter in letters) >= 8 and mod97(letters[4:] + letters[:4])


IBAN = Kind(
    "iban", "bank accounts (IBAN)", (Form((Trigger.CAPITALS_2,), _IBAN, _is_iban),), Mask.IBAN
)
