"""Engines that turn texts into token ids: gigatoken, or Hugging Face `tokenizers`.

An engine gets a file without special tokens (pipelines/tokens/vocabulary.py) and adds
none. It is used by one thread, and starts none.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Protocol

import awkward as ak
import gigatoken
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import tokenizers

from lineage.errors import ConfigError
from pipelines.tokens.buffers import Offsets, views_of

# gigatoken remembers every distinct word for ever: about 0.7 bytes for each byte of real
# text, 7 for random letters. So an engine whose calls have added this much to the memory
# of the process is made anew.
MAX_GROWTH_BYTES = 512 << 20

Ids = npt.NDArray[np.uint32]

_log = logging.getLogger(__name__)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Engine(Protocol):
    """Texts to ids. The same text gives the same ids, in every process."""

    @property
    def name(self) -> str:
        """``gigatoken`` or ``tokenizers``."""

    def encode(self, texts: pa.LargeStringArray) -> tuple[Ids, Offsets]:
        """The ids of all texts in a row, and the n + 1 ends of the texts among them.

        Raises:
            ValueError: a null among the texts.
        """


class GigatokenEngine:
    """gigatoken with its memory bounded: `MAX_GROWTH_BYTES` and the growth of one call.

    Args:
        file: a tokenizer.json that the engines may be given.

    Raises:
        Refused: gigatoken does not know this kind of tokenizer.
    """

    name = "gigatoken"

    def __init__(self, file: bytes) -> None:
        self._file = file
        self._growth_bytes = 0
        self._tokenizer = self._made()

    def encode(self, texts: pa.LargeStringArray) -> tuple[Ids, Offsets]:
        offsets, data = views_of(texts)
        if self._growth_bytes > MAX_GROWTH_BYTES:
            self._renew()
        before = _resident_bytes()
        layout = self._tokenizer.encode_batch(_awkward(offsets, data), parallel=False).layout
        self._growth_bytes += max(0, _resident_bytes() - before)
        return np.asarray(layout.content.data), np.asarray(layout.offsets.data)

    def _renew(self) -> None:
        _log.debug("tokenizer made anew growth_bytes=%d", self._growth_bytes)
        # The old one goes first, so that two are never in memory at once.
        del self._tokenizer
        self._tokenizer = self._made()
        self._growth_bytes = 0

    def _made(self) -> gigatoken.Tokenizer:
        try:
            return gigatoken.Tokenizer.from_json(self._file)
        except (RuntimeError, ValueError) as error:
            raise Refused(str(error).partition("\n")[0]) from None


class Refused(Exception):
    """gigatoken does not know this kind of tokenizer; the message says which part."""


class HuggingFaceEngine:
    """Hugging Face `tokenizers`, one text at a time: slow, and the measure of the other.

    Args:
        file: a tokenizer.json that the engines may be given.

    Raises:
        ConfigError: the library cannot read the file.
    """

    name = "tokenizers"

    def __init__(self, file: bytes) -> None:
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(file.decode("utf-8"))
        except Exception as error:  # noqa: BLE001 - the library raises Exception itself
            reason = str(error).partition("\n")[0][:200]
            raise ConfigError(f"tokenizers cannot read this tokenizer.json: {reason}") from None

    def id_of(self, token: str) -> int | None:
        """The id the library gives a token, None where it has none."""
        number: int | None = self._tokenizer.token_to_id(token)
        return number

    def ids_of(self, text: str) -> Ids:
        """The ids of one text."""
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.uint32)

    def encode(self, texts: pa.LargeStringArray) -> tuple[Ids, Offsets]:
        views_of(texts)
        parts = [self.ids_of(text.as_py()) for text in texts]
        ends = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=ends[1:])
        return np.concatenate([np.empty(0, np.uint32), *parts]), ends


def _awkward(offsets: Offsets, data: npt.NDArray[np.uint8]) -> ak.Array:
    characters = ak.contents.NumpyArray(data, parameters={"__array__": "char"})
    index = ak.index.Index64(offsets)
    return ak.Array(
        ak.contents.ListOffsetArray(index, characters, parameters={"__array__": "string"})
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE_BYTES
