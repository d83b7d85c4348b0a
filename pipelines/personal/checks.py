"""Check digits, by the name of their method.

Each function is handed the digits (or letters) alone, without separators, as ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
# Verhoeff: multiplication in the dihedral group of order ten, and the permutation of a place.
_DIHEDRAL = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 4, 0, 6, 7, 8, 9, 5),
    (2, 3, 4, 0, 1, 7, 8, 9, 5, 6),
    (3, 4, 0, 1, 2, 8, 9, 5, 6, 7),
    (4, 0, 1, 2, 3, 9, 5, 6, 7, 8),
    (5, 9, 8, 7, 6, 0, 4, 3, 2, 1),
    (6, 5, 9, 8, 7, 1, 0, 4, 3, 2),
    (7, 6, 5, 9, 8, 2, 1, 0, 4, 3),
    (8, 7, 6, 5, 9, 3, 2, 1, 0, 4),
    (9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
)
_PERMUTED = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 5, 7, 6, 2, 8, 3, 0, 9, 4),
    (5, 8, 0, 3, 7, 9, 6, 1, 4, 2),
    (8, 9, 1, 6, 0, 4, 3, 5, 2, 7),
    (9, 4, 5, 3, 1, 2, 6, 8, 7, 0),
    (4, 2, 8, 6, 5, 7, 3, 9, 0, 1),
    (2, 7, 9, 3, 8, 0, 6, 4, 1, 5),
    (7, 0, 4, 6, 9, 1, 3, 2, 5, 8),
)


def luhn(digits: bytes) -> bool:
    """ISO/IEC 7812-1, of payment cards."""
    if not digits.isdigit():
        return False
    values = [digit - 48 for digit in reversed(digits)]
    return (sum(values[::2]) + sum(_DOUBLED[value] for value in values[1::2])) % 10 == 0


def verhoeff(digits: bytes) -> bool:
    """Verhoeff's dihedral check."""
    if not digits.isdigit():
        return False
    state = 0
    for place, digit in enumerate(reversed(digits)):
        state = _DIHEDRAL[state][_PERMUTED[place % 8][digit - 48]]
    return state == 0


def mod97(letters: bytes) -> bool:
    """ISO 7064 mod 97-10: letters count from A = 10, the whole is 1 modulo 97."""
    if not (letters.isascii() and letters.isalnum()):
        return False
    return int("".join(str(int(chr(letter), 36)) for letter in letters)) % 97 == 1


def mod11_2(digits: bytes) -> bool:
    """ISO 7064 mod 11-2: a last X counts ten."""
    body, last = digits[:-1], digits[-1:].upper()
    if not body.isdigit() or last not in b"0123456789X":
        return False
    state = 0
    for digit in body:
        state = (state + digit - 48) * 2 % 11
    return (state + (10 if last == b"X" else int(last))) % 11 == 1


def mod11_10(digits: bytes) -> bool:
    """ISO 7064 mod 11,10."""
    if not digits.isdigit():
        return False
    state = 10
    for digit in digits[:-1]:
        state = ((state + digit - 48) % 10 or 10) * 2 % 11
    return (state + digits[-1] - 48) % 10 == 1


def weighted(digits: bytes, weights: Sequence[int]) -> int:
    """The sum of the values, each times its weight; a value is the byte less 48."""
    pairs = zip(digits, weights, strict=True)
    return sum((digit - 48) * weight for digit, weight in pairs)


# What a user's own kind may name.
CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    "luhn": luhn,
    "mod97": mod97,
    "mod11_2": mod11_2,
    "mod11_10": mod11_10,
    "verhoeff": verhoeff,
}
