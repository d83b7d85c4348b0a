"""The signals in plain Python, as their documentation defines them: short, and slow."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from pipelines.signals import characters
from pipelines.signals.stop_words import WORDS_OF

STOP_WORDS = {"the", "be", "to", "of", "and", "that", "have", "with"}
_KINDS = characters.kinds()
_IN_WORD = (characters.LETTER, characters.DIGIT, characters.MARK)


def kind(char: str) -> int:
    return int(_KINDS[ord(char)]) & characters.KIND


def marked(char: str, mark: int) -> bool:
    return bool(_KINDS[ord(char)] & mark)


def tokens(text: str) -> list[str]:
    """Words, ideographs, marks; runs of one ASCII mark stay together."""
    found, at = [], 0
    while at < len(text):
        end = at + 1
        if kind(text[at]) in _IN_WORD:
            while end < len(text) and (
                kind(text[end]) in _IN_WORD
                or (
                    kind(text[end]) == characters.JOINER
                    and end + 1 < len(text)
                    and kind(text[end + 1]) in _IN_WORD
                )
            ):
                end += 1
        elif kind(text[at]) in (characters.OTHER, characters.SPACE, characters.BREAK):
            at += 1
            continue
        elif text[at].isascii():
            while end < len(text) and text[end] == text[at]:
                end += 1
        found.append(text[at:end])
        at = end
    return found


def is_word(token: str) -> bool:
    return kind(token[0]) in (*_IN_WORD, characters.IDEOGRAPH)


def is_alphabetic(token: str) -> bool:
    letters = (characters.LETTER, characters.IDEOGRAPH)
    return is_word(token) and any(kind(char) in letters for char in token)


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if shown(line)]


def shown(line: str) -> list[str]:
    hidden = (characters.OTHER, characters.SPACE)
    return [char for char in line if kind(char) not in hidden]


def paragraphs(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if shown(line):
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [part for part in found if part]


def ends_in_dots(line: str) -> bool:
    last = tokens(line)[-1]
    return last == "\u2026" or (set(last) == {"."} and len(last) >= 3)


def sentences(line: str) -> int:
    """Each mark that ends a sentence, with white space or nothing behind, ends what is open."""
    count, is_open, ended = 0, False, False
    for token in re.findall(r"\s|\S", line):
        if kind(token) == characters.SPACE:
            if ended and is_open:
                count, is_open = count + 1, False
            ended = False
        elif kind(token) == characters.OTHER:
            continue
        elif marked(token, characters.TERMINAL):
            ended = True
            if marked(token, characters.WIDE) and is_open:
                count, is_open = count + 1, False
        elif not (marked(token, characters.QUOTE)):
            is_open, ended = True, False
    return count + is_open


def stood_before(items: list[str]) -> list[str]:
    seen: set[str] = set()
    again = []
    for item in items:
        if item in seen:
            again.append(item)
        seen.add(item)
    return again


def top_ngram_chars(words: list[str], n: int) -> int:
    grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    if not grams or max(grams.values()) < 2:
        return 0
    best = max(grams.values())
    first = next(gram for gram, times in grams.items() if times == best)
    return len(" ".join(first)) * best


def repeated_ngram_chars(words: list[str], n: int) -> int:
    seen: set[tuple[str, ...]] = set()
    chars = at = 0
    while at + n <= len(words):
        gram = tuple(words[at : at + n])
        if gram in seen:
            chars += sum(map(len, gram))
            at += n
        else:
            seen.add(gram)
            at += 1
    return chars


@dataclass(frozen=True)
class Share:
    """A ratio; 0 where the whole is 0."""

    part: int
    whole: int

    def millionths(self) -> int:
        return int(Fraction(self.part, self.whole) * 1_000_000) if self.whole > 0 else 0


def signals(text: str, language: str = "en") -> dict[str, int]:
    """Every signal of one text."""
    every, found_lines = tokens(text), lines(text)
    words = [token for token in every if is_word(token)]
    parts = ["\n".join(part) for part in paragraphs(text)]
    again = sum(map(len, stood_before(found_lines)))
    chars, feeds = len(text), text.count("\n")
    dots = sum(max(len(t) // 3, 1) for t in every if t == "\u2026" or re.fullmatch(r"\.{3,}", t))
    stop = {word for word in STOP_WORDS if {word, word.capitalize()} & set(words)}
    own = {word for word in WORDS_OF.get(language, ()) if {word, word.capitalize()} & set(words)}

    def share(part: int, whole: int) -> int:
        return Share(part, whole).millionths()

    def of_lines(count: int) -> int:
        return share(count, len(found_lines))

    return {
        "num_words": len(words),
        "mean_word_length": share(sum(map(len, words)), len(words)),
        "hash_share": share(text.count("#"), len(every)),
        "ellipsis_share": share(dots, len(every)),
        "alphabetic_share": share(sum(map(is_alphabetic, every)), len(every)),
        "stop_words": len(stop),
        "language_stop_words": len(own),
        "num_lines": len(found_lines),
        "bullet_line_share": of_lines(
            sum(marked(shown(line)[0], characters.BULLET) for line in found_lines)
        ),
        "ellipsis_line_share": of_lines(sum(map(ends_in_dots, found_lines))),
        "ending_line_share": of_lines(
            sum(marked(shown(line)[-1], characters.TERMINAL) for line in found_lines)
        ),
        "short_line_share": of_lines(sum(len(line) <= 30 for line in found_lines)),
        "line_feed_share": share(feeds, len(every)),
        "num_sentences": sum(map(sentences, found_lines)),
        "num_braces": text.count("{"),
        "num_lorem_ipsum": text.lower().count("lorem ipsum"),
        "repeated_line_share": of_lines(len(stood_before(found_lines))),
        "repeated_line_char_share": share(again, chars),
        "repeated_line_text_share": share(again, chars - feeds),
        "repeated_paragraph_share": share(len(stood_before(parts)), len(parts)),
        "repeated_paragraph_char_share": share(sum(map(len, stood_before(parts))), chars),
        **{f"top_{n}gram_char_share": share(top_ngram_chars(words, n), chars) for n in (2, 3, 4)},
        **{
            f"repeated_{n}gram_char_share": share(repeated_ngram_chars(words, n), chars)
            for n in range(5, 11)
        },
    }
