from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.spec.dataset import CleanSpec, DatasetSpec, ShardSpec, load_spec, spec_to_json
from pipelines.spec.limits import LimitSpec, QuarantineLimit

VECTORS = Path(__file__).parents[1] / "vectors" / "spec.json"
SOURCE = """
[[sources]]
name = "wiki"
path = "data/*.jsonl.gz"
licence = "cc-by-sa-4.0 or GFDL-1.3-or-later"
source_class = "public_dataset"
collected = "2026-03"
"""
TOKENIZER = """
[tokenizer]
file = "tokenizer.json"
end_of_document = "<|endoftext|>"
"""
SMALL = "seed = 7\n" + SOURCE + TOKENIZER


def load(folder: Path, text: str, name: str = "news.toml") -> DatasetSpec:
    (folder / name).write_text(text, encoding="utf-8")
    return load_spec(folder / name)


def test_a_small_spec_gets_the_documented_defaults(tmp_path: Path) -> None:
    spec = load(tmp_path, SMALL)
    assert (spec.name, spec.seed) == ("news", 7)
    assert spec.clean == CleanSpec("NFC", 1, None)
    assert spec.shards == ShardSpec(2048, 128 << 20, 16, 4096)
    (source,) = spec.sources
    assert (source.format, source.text, source.id) == ("jsonl", "text", None)
    assert source.licence == "CC-BY-SA-4.0 OR GFDL-1.3-or-later"


def test_every_field_can_be_set(tmp_path: Path) -> None:
    text = SMALL.replace("[[sources]]", '[[sources]]\nformat = "parquet"\ntext = "body"\nid = "n"')
    text += '[clean]\nnormalize = "none"\nmin_chars = 0\nmax_chars = 9\n'
    text += "[shards]\nsample_tokens = 64\nshard_kib = 3\ngroup_shards = 2\nwindow_samples = 8\n"
    spec = load(tmp_path, 'name = "news"\n' + text)
    assert spec.clean == CleanSpec("none", 0, 9)
    assert spec.shards == ShardSpec(64, 3072, 2, 8)
    (source,) = spec.sources
    assert (source.format, source.text, source.id) == ("parquet", "body", "n")


def test_the_digest_is_that_of_the_vector(tmp_path: Path) -> None:
    first = json.loads(VECTORS.read_text())
    for vector in (first, first["with_decontamination"]):
        spec = load(tmp_path, vector["toml"], "vector.toml")
        assert spec_to_json(spec) == vector["json"]
        assert str(spec.digest()) == vector["digest"]


def test_writing_a_default_out_changes_no_digest_and_a_change_does(tmp_path: Path) -> None:
    digest = load(tmp_path, SMALL).digest()
    assert load(tmp_path, SMALL + "[shards]\nshard_mib = 128\n").digest() == digest
    assert load(tmp_path, SMALL + "[shards]\nshard_mib = 127\n").digest() != digest
    assert load(tmp_path, SMALL.replace("seed = 7", "seed = 8")).digest() != digest


def test_a_key_that_came_later_stands_in_the_digest_only_where_it_is_used(tmp_path: Path) -> None:
    old = load(tmp_path, SMALL + "[duplicates]\nnear = true\n")
    written: dict[str, object] = spec_to_json(old)["duplicates"]  # type: ignore[assignment]
    assert not {"largest_cluster", "against"} & written.keys()
    for used in ('against = ["other"]', "largest_cluster = 9"):
        new = load(tmp_path, SMALL + f"[duplicates]\nnear = true\n{used}\n")
        assert new.digest() != old.digest()


@pytest.mark.parametrize(
    "format_",
    [
        ("a.ndjson", "jsonl"),
        ("b/*.JSON.zst", "json"),
        ("c.parquet", "parquet"),
        ("**/*.txt", "text"),
    ],
)
def test_the_format_is_told_by_the_ending(tmp_path: Path, format_: tuple[str, str]) -> None:
    spec = load(tmp_path, SMALL.replace("data/*.jsonl.gz", format_[0]))
    assert spec.sources[0].format == format_[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 7", "seeds = 7", "news.toml: unknown key 'seeds'.*nearest known key is 'seed'"),
        ("seed = 7", "", "news.toml: 'seed' is missing"),
        ("seed = 7", "seed = -1", "seed: -1 is not between"),
        ("seed = 7", "seed = 18446744073709551616", "seed: 18446744073709551616 is not between"),
        ("seed = 7", "seed = true", "seed: an integer was expected, not bool"),
        ("seed = 7", "seed = 7.0", "seed: an integer was expected, not float"),
        ("seed = 7", "seed = 7\nname = 'other'", "name: 'other' stands in news.toml"),
        ("seed = 7", "seed = = 7", "news.toml: not TOML"),
        ("[tokenizer]", "[tokeniser]", "unknown key 'tokeniser'.*'tokenizer'"),
        (TOKENIZER, "", "'tokenizer' is missing"),
        (TOKENIZER, "tokenizer = 1", "source 1: unknown key 'tokenizer'"),
        (SOURCE, "", "'sources' is missing"),
        (SOURCE, "sources = []", "at least one table"),
        (SOURCE, "sources = 'data'", "at least one table"),
        (SOURCE, "sources = ['data']", "source 1: a table was expected, not str"),
        (SOURCE, SOURCE + SOURCE, "sources: the name 'wiki' stands twice"),
        ('"wiki"', '"Wiki"', "source 1: name: 'Wiki' is no source name"),
        ('"wiki"', '""', "name: the string is empty"),
        ("path =", "pth =", "source 1: unknown key 'pth'.*'path'"),
        ('"data/*.jsonl.gz"', '"data"', "path: 'data' tells no format.*format = one of jsonl"),
        ('"data/*.jsonl.gz"', '"a.txt"\nid = "id"', "a record of format text has no fields"),
        ('"data/*.jsonl.gz"', '"a"\nformat = "doc"', "format: 'doc' is none of jsonl"),
        ("cc-by-sa-4.0", "CC-BY-SB-4.0", "licence: licence 'CC-BY-SB-4.0' is not in the SPDX"),
        ("cc-by-sa-4.0", "(MIT", "is no SPDX expression"),
        ('"public_dataset"', '"stolen"', "source_class: 'stolen' is none of"),
        ("2026-03", "2026-13", "collected: '2026-13' is no month"),
        ("2026-03", "March", "write it as YYYY-MM"),
        ("[tokenizer]", "[clean]\nmin_char = 1\n[tokenizer]", r"\[clean\]: unknown key 'min_char'"),
        ("[tokenizer]", "[clean]\nmin_chars = 9\nmax_chars = 8\n[tokenizer]", "8 is not between 9"),
        ("[tokenizer]", '[clean]\nnormalize = "NFKC"\n[tokenizer]', "'NFKC' is none of NFC, none"),
        ("[tokenizer]", "[shards]\nshard_mib = 0\n[tokenizer]", "shard_mib: 0 is not between"),
        ("[tokenizer]", "[shards]\nshard_mib = 1\nshard_kib = 1\n[tokenizer]", "keep one"),
        ("[tokenizer]", "[shards]\nshard_bytes = 1\n[tokenizer]", "unknown key 'shard_bytes'"),
    ],
)
def test_a_slip_is_an_error_that_names_it(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, SMALL.replace(old, new))


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "LicenseRef-our-own",
        "DocumentRef-x:LicenseRef-y",
        "GPL-2.0-only WITH Classpath-exception-2.0",
    ],
)
def test_licences_of_the_list_and_of_ones_own_are_taken(tmp_path: Path, licence: str) -> None:
    text = SMALL.replace("cc-by-sa-4.0 or GFDL-1.3-or-later", licence)
    assert load(tmp_path, text).sources[0].licence == licence


def test_a_file_that_is_missing_or_unreadable_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no spec gone\.toml"):
        load_spec(tmp_path / "gone.toml")
    with pytest.raises(Unavailable, match="cannot be read"):
        load_spec(tmp_path)
    (tmp_path / "bad.toml").write_bytes(b"seed = 1 # caf\xe9")
    with pytest.raises(ConfigError, match="not UTF-8 at byte 14"):
        load_spec(tmp_path / "bad.toml")


def test_a_name_that_is_no_dataset_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no dataset name"):
        load(tmp_path, SMALL, "Big News.toml")


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("a.html.xz", "html"),
        ("a.warc.gz", "warc"),
        ("a.wet.gz", "warc"),
        ("a.md", "markdown"),
        ("a.csv.bz2", "csv"),
        ("a.arrow", "arrow"),
        ("a.pdf", "pdf"),
    ],
)
def test_more_formats_are_told_by_the_ending(tmp_path: Path, name: str, format_: str) -> None:
    assert load(tmp_path, SMALL.replace("data/*.jsonl.gz", name)).sources[0].format == format_


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("a.html", 'text = "t"', "a record of format html has no fields"),
        ("a.pdf", 'url = "u"', "a record of format pdf has no fields"),
        ("a.jsonl", 'extract = "main"', "format jsonl knows no such thing"),
        ("a.jsonl", 'delimiter = ";"', "format jsonl knows no such thing"),
        ("a.jsonl", 'encoding = "latin-1"', "format jsonl knows no such thing"),
        ("a.csv", 'delimiter = ";;"', "is not one character"),
        ("a.txt", 'encoding = "klingon"', "'klingon' is no encoding"),
        ("a.csv", 'encoding = "zlib"', "'zlib' is no encoding of texts"),
        ("a.txt", 'encoding = "undefined"', "'undefined' is no encoding of texts"),
        ("a.html", 'extract = "some"', "'some' is none of main, all"),
        ("a.mds", 'text = "ids"', "'encoding' is missing"),
        ("a.mds", 'encoding = "float32"', "'float32' is none of uint8"),
        ("a.bin", 'encoding = "uint16"', "'delimiter' is missing"),
        ("a.bin", 'encoding = "uint16"\ndelimiter = "x"', "the id that ends a document"),
        ("a.idx", 'encoding = "uint16"', "format megatron knows no such thing"),
        ("a.npy", 'id = "id"', "a record of format tokens has no fields"),
    ],
)
def test_what_a_format_does_not_know_is_an_error(
    tmp_path: Path, path: str, more: str, message: str
) -> None:
    text = SMALL.replace("data/*.jsonl.gz", path).replace("[[sources]]", "[[sources]]\n" + more)
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)


TOKENS = SMALL.replace("data/*.jsonl.gz", "ids.idx") + '\n[clean]\nnormalize = "none"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SMALL.replace("data/*.jsonl.gz", "ids.idx"), 'write .clean. normalize = "none"'),
        (TOKENS + "[rules.c4]\n", "rules: the sources hold token ids, which cannot be cleaned"),
        (TOKENS + "[language]\n", "language: the sources hold token ids"),
        (TOKENS + SOURCE.replace('"wiki"', '"other"'), "some hold text and others token ids"),
    ],
)
def test_what_holds_token_ids_cannot_be_cleaned(tmp_path: Path, text: str, message: str) -> None:
    assert load(tmp_path, TOKENS).tokenized
    assert not load(tmp_path, SMALL).tokenized
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)


def test_the_origin_may_be_unknown_and_then_the_month_too(tmp_path: Path) -> None:
    unknown = SMALL.replace('"public_dataset"', '"unknown_before_import"')
    assert load(tmp_path, unknown.replace("2026-03", "unknown")).sources[0].collected == "unknown"
    assert load(tmp_path, unknown).sources[0].collected == "2026-03"
    with pytest.raises(ConfigError, match="'unknown' is no month"):
        load(tmp_path, SMALL.replace("2026-03", "unknown"))


def test_pages_and_tables_have_their_defaults(tmp_path: Path) -> None:
    spec = load(tmp_path, SMALL.replace("data/*.jsonl.gz", "a.tsv"))
    assert (spec.sources[0].delimiter, spec.sources[0].encoding) == ("\t", "detect")
    spec = load(tmp_path, SMALL.replace("data/*.jsonl.gz", "a.html"))
    assert (spec.sources[0].extract, spec.sources[0].encoding) == ("main", "detect")


def test_limits_quarantine_and_duplicates_are_read(tmp_path: Path) -> None:
    text = "max_quarantined = 0.01\n" + SMALL + "[duplicates]\nnear = true\nsimilarity = 0.7\n"
    text += '[[limits]]\nsignal = "num_words"\nmin = 3\nmax = 9\n'
    spec = load(tmp_path, text)
    assert spec.max_quarantined == QuarantineLimit(share=10_000)
    assert spec.limits == (LimitSpec("num_words", 3, 9),)
    assert (spec.duplicates.near, spec.duplicates.similarity) == (True, 700_000)
    assert load(tmp_path, "max_quarantined = 7\n" + SMALL).max_quarantined.records == 7


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("max_quarantined = -1", "-1 is not between"),
        ("max_quarantined = 1.5", "1.5 is not between"),
        ("limits = 3", r"a list of tables \[\[limits\]\] was expected"),
        ('[[limits]]\nsignal = "num_words"', "neither min nor max"),
        ('[[limits]]\nsignal = "a b"\nmin = 1', "'a b' is no name of a signal"),
        ("[duplicates]\nnear = 1", "true or false was expected, not int"),
        ("[duplicates]\nsimilarity = 0.05", "0.05 is not between"),
        ('[duplicates]\nmeasure = "cosine"', "'cosine' is none of jaccard, containment"),
        ("[duplicates]\nwords = 0", "0 is not between"),
    ],
)
def test_a_slip_in_a_section_is_an_error(tmp_path: Path, more: str, message: str) -> None:
    text = more + "\n" + SMALL if more.startswith(("max", "limits")) else SMALL + more
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, text)
