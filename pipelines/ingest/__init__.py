"""Reading source files: every record is a document or a quarantine row.

Each reader takes the blocks of one unpacked stream and adds records and refusals to a
`chunk.ChunkBuilder`; `read.py` picks it by the format of the partition.

| files | what |
|---|---|
| files, partition, cuts | what a source holds, and how it is cut into partitions |
| read, streams, window | one partition on its way: unpacked blocks, a window on them |
| chunk, refused, books, fields | records and refusals, their places, what a spec names in them |
| jsonl, lines | JSON Lines |
| json_array, json_scan, json_resync | JSON: its elements, where they end, where to go on |
| delimited, delimited_ends, delimited_coding | CSV and TSV: rows, where they end, in what bytes |
| groups, grouped, columns | Parquet and Arrow: row groups, a run of them, fields of a batch |
| rowgroups; arrow_batches, arrow_messages | row groups of Parquet; batches of Arrow |
| text, whole, encoding | text and Markdown |
| html, pages, markup, shape, pdf | pages |
| warc, arc, captures, http | web archives |
"""
