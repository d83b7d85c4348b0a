"""Arrow IPC files and streams, as Hugging Face datasets keep them: one record a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.parquet import add_batch
from pipelines.spec.source import SourceSpec


def read_arrow(path: Path, source: SourceSpec, builder: ChunkBuilder, file: int) -> Iterator[Chunk]:
    """Reads one file, batch by batch; places count rows.

    Raises:
        OSError: the file cannot be opened.
    """
    done = 0
    with pa.OSFile(str(path)) as opened:
        try:
            for batch in _batches(opened):
                yield from add_batch(builder, source, batch, done, file)
                done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            detail = f"after {done} rows: {type(error).__name__}"
            builder.refuse("corrupt_file", detail, b"", Place(file, done, 0))
            return
    if not done:
        builder.refuse("empty_file", "no rows", b"", Place(file, 0, 0))


def _batches(opened: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    # Only the file format begins with its name; a stream begins with a message.
    if opened.read(6) == b"ARROW1":
        reader = pa.ipc.open_file(opened)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
        return
    opened.seek(0)
    yield from pa.ipc.open_stream(opened)
