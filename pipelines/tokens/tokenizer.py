"""A tokenizer from a local file: its identity, texts to ids, and the check of the ids."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.digest import Digest, digest_of, frame
from lineage.errors import ConfigError, IntegrityError
from pipelines.probe import PROBE_TEXTS
from pipelines.tokens.buffers import Offsets, large_binary
from pipelines.tokens.engine import Engine, GigatokenEngine, HuggingFaceEngine, Ids, Refused
from pipelines.tokens.vocabulary import Vocabulary, load_vocabulary

MIN_SAMPLED_ROWS = 8
MAX_SAMPLED_ROWS = 64
# `tokenizers` reads 1 to 2 MB/s: a longer text would cost more than its whole partition.
MAX_SAMPLED_BYTES = 20_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TokenizerIdentity:
    """What makes two tokenizers the same.

    Attributes:
        file: the digest of the tokenizer.json.
        behaviour: the digest of the ids it gives for the probe texts, as u32.
        end_of_document: the name of the token that ends every document.
        end_id: its id.
        num_ids: the largest id + 1, added tokens included.
        dtype: ``uint8``, ``uint16`` or ``uint32``, the narrowest that holds every id.
        applied: False where the ids came with the corpus, so that nobody here saw it applied.
    """

    file: Digest
    behaviour: Digest
    end_of_document: str
    end_id: int
    num_ids: int
    dtype: str
    applied: bool = True

    def to_json(self) -> dict[str, str | int]:
        """A plain dict for canonical JSON."""
        told = asdict(self) | {"file": str(self.file), "behaviour": str(self.behaviour)}
        del told["applied"]
        return told if self.applied else told | {"applied": "before_import"}


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The tokens of a batch of texts, in its order.

    Attributes:
        tokens: one value a text, little-endian ids of the tokenizer's dtype, the last one
            the end-of-document token; no nulls.
        num_tokens: of all texts, end tokens included.
    """

    tokens: pa.LargeBinaryArray
    num_tokens: int


class Tokenizer:
    """Texts to ids, by gigatoken where it knows the tokenizer, else by `tokenizers`.

    The name of a special token in a text stays text. A document of any length is encoded
    whole: time grows about as its length does, and 8 MB of letters without a break took
    12 s (gigatoken). Beside the texts a call holds each id twice, as u32 and as stored; the
    engine's own memory stays within `engine.MAX_GROWTH_BYTES` and the growth of one call.
    Used by one thread at a time; starts none.
    """

    def __init__(self, vocabulary: Vocabulary, end_of_document: str) -> None:
        self._reference = _reference(vocabulary)
        self._engine, probes = _chosen(vocabulary, self._reference)
        self.identity = TokenizerIdentity(
            vocabulary.digest,
            _behaviour(probes),
            end_of_document,
            vocabulary.end_id,
            vocabulary.num_ids,
            narrowest_dtype(vocabulary.num_ids),
        )
        ids, _ = self._engine.encode(pa.array([end_of_document], pa.large_string()))
        if vocabulary.end_id in ids:
            raise ConfigError(
                f"a text can spell the token {end_of_document!r}, so it cannot end documents",
                "choose a special token that no text can spell",
            )

    @classmethod
    def load(cls, path: Path, end_of_document: str) -> Tokenizer:
        """Loads a tokenizer.json of this machine; nothing is ever downloaded.

        Raises:
            ConfigError: no such file, no tokenizer.json that an engine reads, no token
                of this name, or one that a text can spell.
        """
        return cls(load_vocabulary(path, end_of_document), end_of_document)

    @property
    def engine(self) -> str:
        """``gigatoken`` or ``tokenizers``."""
        return self._engine.name

    def encode(self, texts: pa.LargeStringArray) -> TokenBatch:
        """Encodes texts and ends each with the end-of-document token.

        Raises:
            ValueError: a null among the texts.
            IntegrityError: the engine gave an id that the tokenizer does not have.
        """
        ids, ends = self._engine.encode(texts)
        dtype = np.dtype(self.identity.dtype)
        out = np.empty(len(ids) + len(texts), dtype)
        largest = _append_ends(ids, ends, self.identity.end_id, out)
        if largest >= self.identity.num_ids:
            raise IntegrityError(f"{self.engine} gave id {largest} of {self.identity.num_ids} ids")
        offsets = (ends - ends[0] + np.arange(len(ends))) * dtype.itemsize
        return TokenBatch(large_binary(offsets, out), len(out))

    def check(
        self, texts: pa.LargeStringArray, tokens: pa.LargeBinaryArray, rows: Sequence[int]
    ) -> None:
        """Compares rows of what `encode` gave with Hugging Face `tokenizers`.

        Raises:
            IntegrityError: a row differs; names the row and the first position, not the text.
        """
        for row in rows:
            got = np.frombuffer(tokens[row].as_buffer(), self.identity.dtype)
            ids = self._reference.ids_of(texts[row].as_py())
            expected = np.append(ids, np.uint32(self.identity.end_id))
            position = _first_difference(got, expected)
            if position is not None:
                raise IntegrityError(
                    f"row {row}: {self.engine} and tokenizers differ at token {position}",
                    "report it with the tokenizer; its tokens cannot be trusted",
                )


def narrowest_dtype(num_ids: int) -> str:
    """The narrowest dtype of ids 0 to `num_ids` - 1: ``uint8``, ``uint16`` or ``uint32``.

    Raises:
        ValueError: more ids than 32 bits name.
    """
    for bits in (8, 16, 32):
        if num_ids <= 1 << bits:
            return f"uint{bits}"
    raise ValueError(f"{num_ids} ids do not fit 32 bits")


def sampled_rows(
    num_rows: int, content: Digest, sizes: npt.NDArray[np.int64] | None = None
) -> list[int]:
    """The rows of a partition that are compared with `tokenizers`, ascending.

    About one in two hundred, at least 8 and at most 64, drawn by the partition's content.

    Args:
        sizes: bytes of each text, where known: rows above `MAX_SAMPLED_BYTES` are then
            left out and the longest of the others is always in. Where all are above it,
            the shortest stands for them.
    """
    rows = np.arange(num_rows)
    if sizes is not None and num_rows:
        within = rows[sizes <= MAX_SAMPLED_BYTES]
        rows = within if len(within) else rows[[np.argmin(sizes)]]
    # One place is kept for the longest.
    most = MAX_SAMPLED_ROWS - (sizes is not None)
    wanted = min(max(MIN_SAMPLED_ROWS, len(rows) // 200), most, len(rows))
    # The draw is the partition's own, so that it is the same wherever it is made.
    chance = np.random.Generator(np.random.PCG64(int.from_bytes(content.raw, "big")))
    chosen = set(chance.choice(rows, wanted, replace=False).tolist())
    if sizes is not None and len(rows):
        chosen.add(int(rows[np.argmax(sizes[rows])]))
    return sorted(chosen)


def _reference(vocabulary: Vocabulary) -> HuggingFaceEngine:
    reference = HuggingFaceEngine(vocabulary.engine_file)
    for token, number in vocabulary.kept.items():
        if reference.id_of(token) != number:
            raise ConfigError(
                f"the added token {token!r} does not keep its id {number}",
                "make it special, or put it into the model's vocabulary",
            )
    return reference


def _chosen(
    vocabulary: Vocabulary, reference: HuggingFaceEngine
) -> tuple[Engine, tuple[Ids, Offsets]]:
    probes = pa.array(PROBE_TEXTS, pa.large_string())
    expected = reference.encode(probes)
    try:
        fast = GigatokenEngine(vocabulary.engine_file)
    except Refused as refusal:
        _log.info("engine=tokenizers gigatoken_refuses=%s", refusal)
        return reference, expected
    given = fast.encode(probes)
    if np.array_equal(given[0], expected[0]) and np.array_equal(given[1], expected[1]):
        return fast, expected
    _log.warning("engine=tokenizers: gigatoken gives other ids for the probe texts")
    return reference, expected


def _behaviour(probes: tuple[Ids, Offsets]) -> Digest:
    ids, ends = probes
    texts = [ids[ends[i] : ends[i + 1]].astype("<u4").tobytes() for i in range(len(ends) - 1)]
    return digest_of(frame(b"shardline/tokenizer-behaviour/v1", *texts))


def _first_difference(got: npt.NDArray[np.unsignedinteger], expected: Ids) -> int | None:
    shared = min(len(got), len(expected))
    differs = np.flatnonzero(got[:shared] != expected[:shared])
    if len(differs):
        return int(differs[0])
    return None if len(got) == len(expected) else shared


@numba.njit(nogil=True, cache=True)
def _append_ends(ids: Ids, ends: Offsets, end_id: int, out: npt.NDArray[np.unsignedinteger]) -> int:
    at = 0
    largest = 0
    for document in range(len(ends) - 1):
        for position in range(ends[document], ends[document + 1]):
            if ids[position] > largest:  # noqa: PLR1730 - the types of max() are wider
                largest = ids[position]
            out[at] = ids[position]
            at += 1
        out[at] = end_id
        at += 1
    return largest
