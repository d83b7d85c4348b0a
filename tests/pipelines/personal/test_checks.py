"""Numbers made here by their rules are found, and found no more when a digit slips."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.personal.checks import CHECKS
from pipelines.personal.registry import KINDS
from tests.pipelines.personal.found import found

SETTINGS = settings(
    max_examples=50,
    deadline=None,
)


def digits_of(length: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=length, max_size=length)


def with_luhn(body: str) -> str:
    doubled = [int(d) * (2 if i % 2 == 0 else 1) for i, d in enumerate(reversed(body))]
    return body + str(-sum(value - 9 * (value > 9) for value in doubled) % 10)


def with_iban(country: str, account: str) -> str:
    number = int("".join(str(int(char, 36)) for char in account + country + "00"))
    return f"{country}{98 - number % 97:02d}{account}"


def with_cpf(body: str) -> str:
    for start in (10, 11):
        rest = sum(int(d) * w for d, w in zip(body, range(start, 1, -1), strict=True)) % 11
        body += str(0 if rest < 2 else 11 - rest)
    return body


def with_cnpj(body: str) -> str:
    for weights in ([5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]):
        rest = sum((ord(c) - 48) * w for c, w in zip(body, weights, strict=True)) % 11
        body += str(0 if rest < 2 else 11 - rest)
    return body


def with_resident(body: str) -> str:
    total = sum(int(d) * 2 ** (17 - i) for i, d in enumerate(body))
    return body + "10X98765432"[total % 11]


def with_nir(body: str) -> str:
    return f"{body}{97 - int(body) % 97:02d}"


def slipped(number: str, at: int, by: int) -> str:
    places = [place for place, char in enumerate(number) if char.isdigit()]
    place = places[at % len(places)]
    return number[:place] + str((int(number[place]) + by) % 10) + number[place + 1 :]


slips = st.tuples(st.integers(0, 40), st.integers(1, 9))


@SETTINGS
@given(st.sampled_from(["4", "51", "2221", "36", "62"]), digits_of(14), slips)
def test_cards(prefix: str, body: str, slip: tuple[int, int]) -> None:
    number = with_luhn((prefix + body)[:15])
    assert found(number) == [("card", number)]
    grouped = " ".join(number[i : i + 4] for i in range(0, 16, 4))
    assert found(f"a card, {grouped}.") == [("card", grouped)]
    assert found(slipped(number, *slip), KINDS["card"]) == []


@SETTINGS
@given(st.sampled_from([("DE", 18), ("FR", 23), ("NO", 11), ("MT", 27)]), st.data(), slips)
def test_ibans(country: tuple[str, int], data: st.DataObject, slip: tuple[int, int]) -> None:
    number = with_iban(country[0], data.draw(digits_of(country[1])))
    assert found(f"to {number}!") == [("iban", number)]
    assert found(slipped(number, *slip), KINDS["iban"]) == []


@SETTINGS
@given(digits_of(9).filter(lambda body: len({*body}) > 1))
def test_cpfs(body: str) -> None:
    number = with_cpf(body)
    written = f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"
    assert found(written) == [("cpf", written)]
    assert found(f"CPF {number}", KINDS["cpf"]) == [("cpf", number)]
    assert found(slipped(written, 10, 3), KINDS["cpf"]) == []


@SETTINGS
@given(st.text("0123456789ABCXYZ", min_size=12, max_size=12).filter(lambda body: len({*body}) > 1))
def test_cnpjs_of_digits_and_of_letters(body: str) -> None:
    n = with_cnpj(body)
    written = f"{n[:2]}.{n[2:5]}.{n[5:8]}/{n[8:12]}-{n[12:]}"
    assert found(f"CNPJ {written}") == [("cnpj", written)]
    assert found(written[:-1] + str((int(n[-1]) + 1) % 10), KINDS["cnpj"]) == []


@SETTINGS
@given(st.dates(), digits_of(3), slips)
def test_resident_identity_numbers(born: object, rest: str, slip: tuple[int, int]) -> None:
    year = 1900 + int(rest) % 130
    number = with_resident(f"110105{year}{str(born)[5:7]}{min(int(str(born)[8:10]), 28):02d}{rest}")
    assert found(f"身份证{number}") == [("cn_resident_id", number)]
    assert found(slipped(number, *slip), KINDS["cn_resident_id"]) == []


@SETTINGS
@given(st.sampled_from("12"), digits_of(2), st.integers(1, 12), digits_of(8), slips)
def test_nirs(sex: str, year: str, month: int, rest: str, slip: tuple[int, int]) -> None:
    number = with_nir(f"{sex}{year}{month:02d}{rest}")
    assert found(number, KINDS["fr_nir"]) == [("fr_nir", number)]
    assert found(slipped(number, *slip), KINDS["fr_nir"]) == []


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("luhn", b"79927398713"),
        ("mod97", b"3214282912345698765432161182"),
        ("mod11_2", b"0000000218250097"),  # an ORCID iD
        ("mod11_10", b"86095742719"),
        ("verhoeff", b"2363"),
    ],
)
def test_published_examples_pass(name: str, number: bytes) -> None:
    assert CHECKS[name](number)


@given(st.sampled_from(sorted(CHECKS)), st.binary(max_size=40))
def test_no_bytes_break_a_check(name: str, number: bytes) -> None:
    assert CHECKS[name](number) in {True, False}
