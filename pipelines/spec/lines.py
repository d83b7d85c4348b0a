"""The section ``[c4_lines]``: which lines are taken out of texts, as for C4."""

from __future__ import annotations

from dataclasses import dataclass

from lineage.fields import Fields

_MOST = 10**9


@dataclass(frozen=True, slots=True)
class C4LinesSpec:
    """Which lines leave (Raffel et al. 2020, section 2.2, and its published code).

    Attributes:
        terminal: those that end neither a sentence nor a quotation. FineWeb leaves this
            one out.
        min_words: those of fewer words; None keeps them.
        max_word_length: those with a run of more code points without white space; None
            keeps them.
        javascript: those with the word JavaScript.
        policy: those with phrases of cookie banners and terms of use.
        citations: marks such as [1], [edit] and [citation needed] are taken out of lines.
    """

    terminal: bool = True
    min_words: int | None = 3
    max_word_length: int | None = 1000
    javascript: bool = True
    policy: bool = True
    citations: bool = True


def c4_lines_spec(table: object, where: str) -> C4LinesSpec | None:
    """Reads ``c4_lines = true`` for the published rules, or a table that changes some.

    Returns:
        None for ``c4_lines = false``.

    Raises:
        ConfigError: an unknown key, another type, or out of range.
    """
    if isinstance(table, bool):
        return C4LinesSpec() if table else None
    fields = Fields(table, f"{where}, [c4_lines]", C4LinesSpec.__slots__)
    usual = C4LinesSpec()
    return C4LinesSpec(
        terminal=fields.flag("terminal", usual.terminal),
        min_words=_number(fields, "min_words", usual.min_words),
        max_word_length=_number(fields, "max_word_length", usual.max_word_length),
        javascript=fields.flag("javascript", usual.javascript),
        policy=fields.flag("policy", usual.policy),
        citations=fields.flag("citations", usual.citations),
    )


def _number(fields: Fields, key: str, usual: int | None) -> int | None:
    """A number from 1 on, or ``false`` to leave a rule out."""
    if key not in fields:
        return usual
    return None if fields.value(key) is False else fields.integer(key, 1, _MOST)
