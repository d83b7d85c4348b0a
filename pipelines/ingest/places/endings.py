"""What the ending of a name says: a format, a compression, an archive."""

from __future__ import annotations

import functools

from lineage.errors import ConfigError
from pipelines.spec.source import ARCHIVES, COMPRESSIONS, FORMAT_OF_ENDING, SourceSpec

# Formats that are compressed inside, and are read at any place.
SEEKABLE = frozenset({"parquet", "arrow"})
# A format of which a file is an index, and what it stands for lies beside it.
PAIRED = "megatron"
_PLAIN = SEEKABLE | {PAIRED}
_SHORT = {".tgz": "tar.gz"}


def archive_of(name: str) -> str:
    """The kind of an archive, such as ``zip`` or ``tar.gz``, or empty."""
    lower = name.lower()
    # Of two endings that fit, the longer one says more.
    for ending in sorted(ARCHIVES, key=len, reverse=True):
        if lower.endswith(ending):
            return _SHORT.get(ending, ending[1:])
    return ""


def compression_of(source: SourceSpec, path: str) -> str:
    """How a file is packed: an archive's kind, a compression, or empty.

    Raises:
        ConfigError: a packed file of a format that is not read from packed ones.
    """
    lower = path.lower()
    ends = [name for ending, name in COMPRESSIONS.items() if lower.endswith(ending)]
    packed = archive_of(path) or (ends[0] if ends else "")
    if packed and source.format in _PLAIN:
        raise ConfigError(
            f"source {source.name}: {path!r}: {source.format} files are not read from .{packed}",
            "unpack it first",
        )
    return packed


@functools.cache
def endings_of(format_: str) -> tuple[str, ...]:
    """All endings of a format's files, those of compressions included."""
    packed = ("",) if format_ in _PLAIN else ("", *COMPRESSIONS)
    own = [ending for ending, name in FORMAT_OF_ENDING.items() if name == format_]
    return tuple(ending + more for ending in own for more in packed)


def is_of(name: str, endings: tuple[str, ...]) -> bool:
    """Whether a file of a folder or an archive is of a format."""
    lower = name.lower()
    # What Hugging Face datasets keep of work in between is no data of the dataset.
    return lower.endswith(endings) and not (
        lower.rpartition("/")[2].startswith("cache-") and lower.endswith(".arrow")
    )


def is_hidden(name: str) -> bool:
    """Whether a relative path has a part that begins with a dot; ``.`` and ``..`` do not."""
    return any(part.startswith(".") and part.strip(".") for part in name.split("/"))
