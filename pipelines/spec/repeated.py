"""The section ``[repeated]``: lines or paragraphs that stand elsewhere too."""

from __future__ import annotations

from dataclasses import dataclass

from lineage.fields import Fields

LINE, PARAGRAPH = "line", "paragraph"
UNITS = (LINE, PARAGRAPH)
_MOST = 10**12


@dataclass(frozen=True, slots=True)
class RepeatedSpec:
    """Which parts of texts are taken out because they stand elsewhere too.

    Attributes:
        unit: of `UNITS`: what a part is.
        min_chars: shorter ones stay, in code points with runs of white space as one.
        max_documents: those that stand in more documents are taken out of all of them;
            None takes out none.
        within: those that stood before in the same document are taken out.
    """

    unit: str = LINE
    min_chars: int = 20
    max_documents: int | None = None
    within: bool = False


def repeated_spec(table: object, where: str) -> RepeatedSpec:
    """Reads ``[repeated]``.

    Raises:
        ConfigError: an unknown key, a wrong type or value, or nothing to take out.
    """
    fields = Fields(table, f"{where}, [repeated]", RepeatedSpec.__slots__)
    spec = RepeatedSpec(
        unit=fields.choice("unit", UNITS, LINE),
        min_chars=fields.integer("min_chars", 1, _MOST, 20),
        max_documents=fields.integer("max_documents", 1, _MOST)
        if "max_documents" in fields
        else None,
        within=fields.flag("within", default=False),
    )
    if spec.max_documents is None and not spec.within:
        fields.refuse("max_documents", "it is missing, and within is not true", "set one of them")
    return spec
