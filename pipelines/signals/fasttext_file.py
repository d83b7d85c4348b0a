"""What stands in a fastText model file, looked at before the library loads it.

The library trusts what it reads: a file that was cut short ends the process or never ends.
The layout is that of versions 11 and 12: arguments, dictionary, input and output matrix,
either as float32 or quantized.
"""

from __future__ import annotations

import struct

from lineage.errors import ConfigError

_MAGIC, _VERSIONS = 793_712_314, (11, 12)
_SUPERVISED = 3
_LABEL = 1
# Centroids of a product quantizer.
_CENTROIDS = 256


def labels_of(data: bytes, name: str) -> tuple[str, ...]:
    """The labels of a classifier.

    Args:
        data: the file.
        name: of the file, for messages.

    Raises:
        ConfigError: no model of fastText, not a classifier, or not whole.
    """
    reader = _Reader(data, name)
    if reader.integers("<ii")[0] != _MAGIC or struct.unpack_from("<i", data, 4)[0] not in _VERSIONS:
        raise ConfigError(f"{name}: no model of fastText", "a file .bin or .ftz is needed")
    arguments = reader.integers("<12i")
    reader.skip(8)
    if arguments[7] != _SUPERVISED:
        raise ConfigError(f"{name}: the model is no classifier", "train it with labels")
    labels = _dictionary(reader)
    for _ in range(2):
        _matrix(reader)
    if reader.rest():
        raise ConfigError(f"{name}: something follows the model", "is the file damaged?")
    return labels


def _dictionary(reader: _Reader) -> tuple[str, ...]:
    size, _, _, _, pruned = reader.integers("<iiiqq")
    labels = []
    for _ in range(size):
        word = reader.word()
        _, kind = reader.integers("<qb")
        if kind == _LABEL:
            labels.append(word.decode("utf-8", "replace"))
    reader.skip(8 * max(pruned, 0))
    return tuple(labels)


def _matrix(reader: _Reader) -> None:
    (quantized,) = reader.integers("<?")
    if not quantized:
        rows, columns = reader.integers("<qq")
        reader.skip(4 * rows * columns)
        return
    norms, rows, _, codes = reader.integers("<?qqi")
    reader.skip(codes)
    _quantizer(reader)
    if norms:
        reader.skip(rows)
        _quantizer(reader)


def _quantizer(reader: _Reader) -> None:
    dimension, _, _, _ = reader.integers("<4i")
    reader.skip(4 * dimension * _CENTROIDS)


class _Reader:
    """Goes through a file; what is asked for behind its end is an error."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name, self._at = data, name, 0

    def integers(self, form: str) -> tuple[int, ...]:
        at = self._at
        self.skip(struct.calcsize(form))
        return struct.unpack_from(form, self._data, at)

    def word(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        word = self._data[self._at : end]
        self.skip(end + 1 - self._at if end >= 0 else -1)
        return word

    def skip(self, num_bytes: int) -> None:
        if not 0 <= num_bytes <= len(self._data) - self._at:
            raise ConfigError(f"{self._name}: the model is cut short or damaged", "copy it again")
        self._at += num_bytes

    def rest(self) -> int:
        return len(self._data) - self._at
