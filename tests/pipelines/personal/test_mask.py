"""Masks show what a finding was like, and never enough to know it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.personal.mask import MOST_SHOWN, masked
from pipelines.personal.registry import KINDS, own_kind

OWN = own_kind("staff", "EMP-[0-9]{6}", "EMP-", None, None)


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("email", "jane.doe@example.org", "j***@e***.org"),
        ("email", "x@sub.example.photography", "x***@s***"),
        ("ip", "8.20.30.40", "8.*.*.*"),
        ("ip", "2a02:1234::5:6", "2a02:****:…"),
        ("phone", "+55 11 91234-5612", "+55 ** *****-**12"),
        ("phone", "(212) 555-0123", "(***) ***-**23"),
        ("card", "4111 1111 1111 1112", "4*** **** **** **12"),
        ("iban", "DE89 3704 0044 0532 0130 00", "DE** **** **** **** **** 00"),
        ("us_ssn", "536-90-4399", "***-**-**99"),
        ("cpf", "529.982.247-25", "***.***.***-25"),
        ("it_codice_fiscale", "RSSMRA85T10A562S", "**************2S"),
        ("api_token", "gh" + "p_" + "a1B2" * 9, "ghp_*** (40 bytes)"),
        ("api_token", "hunter2hunter2", "*** (14 bytes)"),
        (
            "private_key",
            "-----BEGIN RSA PRIVATE KEY-----\n" + "x" * 1672,
            "-----BEGIN RSA PRIVATE KEY----- (1,704 bytes)",
        ),
    ],
)
def test_what_is_shown(name: str, text: str, shown: str) -> None:
    assert masked(text.encode(), KINDS[name]) == shown


def test_of_an_own_kind_only_the_size_is_shown() -> None:
    assert masked(b"EMP-123456", OWN) == "*** (10 bytes)"


# Letters that no mask says of itself.
secrets = st.text(st.sampled_from("QWZÄß中7@:.+-/ \n<"), max_size=120).map(str.encode)


@given(secrets | st.binary(max_size=80), st.sampled_from([*KINDS.values(), OWN]))
def test_a_mask_shows_few_characters_in_one_line(text: bytes, kind: object) -> None:
    shown = masked(text, kind)  # type: ignore[arg-type]
    assert "\n" not in shown and len(shown) < 120
    own = [char for char in shown.partition(" (")[0] if char.isalnum()]
    told = Counter(own) - Counter("BEGINPRIVATEKEY")
    assert sum(told.values()) <= MOST_SHOWN


@given(st.from_regex(r"[A-Za-z0-9]{20,60}", fullmatch=True), st.sampled_from([*KINDS.values()]))
def test_no_long_run_of_a_finding_is_shown(text: str, kind: object) -> None:
    shown = masked(text.encode(), kind)  # type: ignore[arg-type]
    assert not any(text[at : at + 6] in shown for at in range(len(text) - 5))
