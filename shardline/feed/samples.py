"""Samples in memory, and the batches that a consumer is given."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.errors import ConfigError

TokenIds = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Packed samples.

    Attributes:
        input_ids: (b, sample_tokens) in the storage dtype (uint8, uint16 or uint32). It may be a
            part of a window's buffer, and keeps that in memory; no other batch sees its rows.
        packed_boundaries: binary (b,), u32 little-endian as stored.
        packed_masks: fixed-size binary (b,), one bit a token, null where every token counts; None
            where that is so in all rows.
    """

    input_ids: TokenIds
    packed_boundaries: pa.BinaryArray
    packed_masks: pa.FixedSizeBinaryArray | None

    def __len__(self) -> int:
        return len(self.input_ids)

    @property
    def boundaries(self) -> list[npt.NDArray[np.uint32]]:
        """For each row the exclusive ends of its pieces of documents; the last is sample_tokens.

        Unpacked each time it is asked for; read-only.
        """
        packed = self.packed_boundaries
        return [np.frombuffer(value.as_buffer(), dtype="<u4") for value in packed]

    @property
    def every_token_counts(self) -> bool:
        """Whether `loss_mask` is True throughout, without making it."""
        return self.packed_masks is None or self.packed_masks.null_count == len(self)

    @property
    def loss_mask(self) -> npt.NDArray[np.bool_]:
        """(b, sample_tokens): False for fill and holes. Unpacked each time it is asked for."""
        tokens = self.input_ids.shape[1]
        mask = np.ones((len(self), tokens), dtype=np.bool_)
        for row, value in enumerate(self.packed_masks or ()):
            if value.is_valid:
                bits = np.frombuffer(value.as_buffer(), dtype=np.uint8)
                mask[row] = np.unpackbits(bits, count=tokens, bitorder="little")
        return mask

    def torch(self) -> dict[str, Any]:
        """Tensors on the CPU: `input_ids` int64 (b, sample_tokens), `loss_mask` bool alike.

        Both are copies, as torch indexes embeddings with int64: eight bytes a token.

        Raises:
            ConfigError: torch is not installed.
        """
        try:
            torch = importlib.import_module("torch")
        except ImportError:
            raise ConfigError("torch is not installed", "install it, or use input_ids") from None
        return {
            "input_ids": torch.from_numpy(self.input_ids.astype(np.int64)),
            "loss_mask": torch.from_numpy(self.loss_mask),
        }

    def part(self, start: int, stop: int) -> Samples:
        """Rows start to stop - 1, without copying."""
        masks = self.packed_masks
        return Samples(
            self.input_ids[start:stop],
            self.packed_boundaries.slice(start, stop - start),
            None if masks is None else masks.slice(start, stop - start),
        )

    @classmethod
    def joined(cls, parts: Sequence[Samples]) -> Samples:
        """The rows of one or more parts, one after another, copied."""
        masks: pa.FixedSizeBinaryArray | None = None
        if not all(part.every_token_counts for part in parts):
            masks = pa.concat_arrays([_masks_of(part) for part in parts])
        return cls(
            np.concatenate([part.input_ids for part in parts]),
            pa.concat_arrays([part.packed_boundaries for part in parts]),
            masks,
        )

    @classmethod
    def none(cls, sample_tokens: int, dtype: np.dtype[Any]) -> Samples:
        """No samples."""
        return cls(np.empty((0, sample_tokens), dtype), pa.array([], pa.binary()), None)


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Samples):
    """The samples that a rank is given in a step.

    Attributes:
        step: counted from 0 through all epochs and resumes.
        epoch: counted from 0.
        position: of the global batch's first sample in the epoch's order.
    """

    step: int
    epoch: int
    position: int


def _masks_of(part: Samples) -> pa.FixedSizeBinaryArray:
    if part.packed_masks is not None:
        return part.packed_masks
    return pa.nulls(len(part), pa.binary((part.input_ids.shape[1] + 7) // 8))
