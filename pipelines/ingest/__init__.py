"""Reading source files: every record is a document or a quarantine row.

`partition` plans a source, `read` reads one partition, and gives records and refusals as
chunks (`chunk`, with `fields`, `refused` and `books` for what a spec names in a record, why
one is none, and which bytes are told). A reader takes the blocks of one unpacked stream;
`read` picks it by the format of the partition.

| room | what |
|---|---|
| places | where bytes lie: files, objects, archives, members; ranges of them; cuts; unpacking |
| records | JSON Lines, JSON, CSV and TSV |
| columnar | Parquet and Arrow |
| pages | text, Markdown, HTML, PDF, and their encodings |
| web | WARC, ARC and WET |
| ids | what is tokenized already: MDS, Megatron, flat arrays |
"""
