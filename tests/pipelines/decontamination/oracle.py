"""The same measure as a reader would write it down, without hashes and arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import unicodedata2

Gram = tuple[str, ...]


def units(text: str) -> list[tuple[str, int]]:
    """Words and characters that stand for themselves, with what they weigh."""
    found: list[tuple[str, int]] = []
    word = ""
    for char in unicodedata2.normalize("NFKD", text).casefold() + " ":
        category = unicodedata2.category(char)
        if unicodedata2.combining(char) or category == "Cf":
            continue
        weight = 0 if category[0] not in "LMN" else _weight(char)
        if weight == 4:
            word += char
            continue
        if word:
            found.append((word, 4))
            word = ""
        if weight:
            found.append((char, weight))
    return found


def _weight(char: str) -> int:
    if "\u0e00" <= char < "\u0f00" or "\u1000" <= char < "\u10a0" or "\u1780" <= char < "\u1800":
        return 1
    return 2 if "\u3041" <= char < "\ua000" else 4


def grams(text: str, words: int) -> Iterator[Gram]:
    """The shortest run that ends at each unit and weighs so many words."""
    found = units(text)
    for end in range(1, len(found) + 1):
        start, weight = end, 0
        while start and weight < 4 * words:
            start -= 1
            weight += found[start][1]
        if weight >= 4 * words:
            yield tuple(unit for unit, _ in found[start:end])


def measured(
    text: str, items: Sequence[str], words: int, min_words: int, max_items: int
) -> tuple[int, int, int]:
    """Coverage in millionths, number of n-grams, and the item."""
    seen: set[Gram] = set()
    known: list[tuple[int, set[Gram], bool]] = []
    for number, item in enumerate(items):
        every = tuple(unit for unit, _ in units(item))
        weight = sum(weight for _, weight in units(item))
        if weight >= 4 * min_words and every not in seen:
            short = weight < 4 * words
            known.append((number, set(grams(item, min_words if short else words)), short))
        seen.add(every)
    holders = Counter((gram, short) for _, held, short in known for gram in held)
    of_text = {False: set(grams(text, words)), True: set(grams(text, min_words))}
    best, hits = (0, -1), set()
    for number, held, short in known:
        rare = {gram for gram in held if holders[gram, short] <= max_items}
        found = rare & of_text[short]
        hits |= {(gram, short) for gram in found}
        share = 1_000_000 * len(found) // max(1, len(rare))
        if share > best[0] and not (short and share < 1_000_000):
            best = (share, number)
    return best[0], len(hits), best[1]
