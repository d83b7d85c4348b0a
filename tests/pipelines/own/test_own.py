"""A user's function: what it may do, and that it is known by what it does."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa
import pytest

from lineage.errors import ConfigError, NotFound
from pipelines.clean.act import SHOWN
from pipelines.own.act import Own
from pipelines.spec.own import OwnSpec, own_spec

PAGE = Path(__file__).parents[3] / "docs" / "own-transforms.md"
HEAD = "import pyarrow as pa\n"
SHOUT = HEAD + (
    "def shout(documents, mark='!'):\n"
    "    texts = [text + mark for text in documents['text'].to_pylist()]\n"
    "    return pa.table({'text': texts, 'length': [len(t) for t in texts]})\n"
)

RANDOM = """
    import random
    numbers = [random.getrandbits(60) for _ in range(documents.num_rows)]
    return pa.table({'n': numbers})
"""


def own(root: Path, code: str, function: str = "shout", parameters: str = "{}") -> Own:
    (root / "transforms").mkdir(exist_ok=True)
    (root / "transforms" / "mine.py").write_text(code, encoding="utf-8")
    return Own(OwnSpec("loud", f"mine:{function}", parameters), root)


def documents(*texts: str) -> pa.Table:
    columns = {name: pa.nulls(len(texts), pa.string()) for name in SHOWN}
    return pa.table(columns | {"text": pa.array(texts, pa.large_string())})


def test_it_edits_texts_and_gives_signals(tmp_path: Path) -> None:
    act = own(tmp_path, SHOUT, parameters='{"mark": "?"}')
    effect = act.apply(documents("a", "bc"))
    assert effect.places.tolist() == [0, 1]
    assert effect.texts.to_pylist() == ["a?", "bc?"]
    assert [column.name for column in act.columns] == ["own_loud_length"]
    assert effect.signals["own_loud_length"].to_pylist() == [2, 3]


def test_texts_that_it_leaves_alone_are_no_edits(tmp_path: Path) -> None:
    code = "def shout(documents):\n    return documents.select(['text'])\n"
    assert own(tmp_path, code).apply(documents("a")).places.tolist() == []


def test_its_file_its_parameters_and_its_behaviour_are_its_identity(tmp_path: Path) -> None:
    acts = [
        own(tmp_path, SHOUT),
        own(tmp_path, SHOUT, parameters='{"mark": "?"}'),
        own(tmp_path, SHOUT + "# a remark\n"),
        own(tmp_path, SHOUT.replace("len(t)", "len(t) + 1")),
    ]
    assert len({act.transform().digest() for act in acts}) == 4
    assert acts[0].transform().behaviour == acts[2].transform().behaviour
    assert own(tmp_path, SHOUT).transform().digest() == acts[0].transform().digest()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    return None", "gave a NoneType, not a table"),
        ("    return documents.slice(1)", "gave .* rows for"),
        ("    return pa.table({'text': pa.nulls(documents.num_rows, pa.string())})", "gave null"),
        ("    return pa.table({'score': [0.5] * documents.num_rows})", "gave double in 'score'"),
        (
            "    return pa.table({'text': [1] * documents.num_rows})",
            "gave a column 'text' of int64",
        ),
        ("    return pa.table({'A b': [1] * documents.num_rows})", "gave a column 'A b' of int64"),
        ("    return pa.table({})", "gave 0 rows|gave no columns"),
        ("    raise ValueError(documents['text'][0].as_py())", "raised ValueError"),
        ("    return documents['nothing']", "raised KeyError"),
        (RANDOM, "something else for the same document"),
        (
            "    return pa.table({'n': list(range(documents.num_rows))})",
            "something else for the same document",
        ),
    ],
)
def test_what_does_not_do_what_a_transform_must_is_refused(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as wrong:
        own(tmp_path, HEAD + "def shout(documents):\n" + body + "\n")
    assert "loud (mine:shout)" in wrong.value.message
    assert "quick" not in str(wrong.value)


NEIGHBOUR = """
    texts = documents['text'].to_pylist()
    return pa.table({'n': [len(one) < len(two) for one, two in zip(texts, ['', *texts])]})
"""
NO_UTF8 = """
    rows = documents.num_rows
    offsets = pa.array(range(rows + 1), pa.int32()).buffers()[1]
    texts = pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(b'\\xff' * rows))
    return pa.table({'text': texts})
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (NEIGHBOUR, "something else for the same document"),
        (NO_UTF8, "not UTF-8"),
        (
            "    return pa.table({'n': pa.array([2**64 - 1] * documents.num_rows, pa.uint64())})",
            "does not fit 64 bits",
        ),
        ("    raise SystemExit('over')", "raised SystemExit at line 3"),
        ("    a = 1\n    return a / 0", "raised ZeroDivisionError at line 4"),
        ("    return documents.select(['text'] if documents.num_rows > 50 else [])", "gave"),
    ],
)
def test_neighbours_raw_bytes_and_exits_are_refused(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        own(tmp_path, HEAD + "def shout(documents):\n" + body + "\n")


def test_the_bytes_that_are_digested_are_those_that_run(tmp_path: Path) -> None:
    stamps = []
    for mark in "!?":
        act = own(tmp_path, SHOUT.replace("'!'", f"'{mark}'"))
        assert act.apply(documents("a")).texts.to_pylist() == [f"a{mark}"]
        path = tmp_path / "transforms" / "mine.py"
        # As an editor that saves twice within a second, or a copy that keeps the time.
        os.utime(path, (1_000_000_000, 1_000_000_000))
        stamps.append(path.stat().st_size)
    assert stamps[0] == stamps[1]
    assert not (tmp_path / "transforms" / "__pycache__").exists()


def test_a_module_may_hold_dataclasses(tmp_path: Path) -> None:
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, KW_ONLY\n"
        "import pyarrow as pa\n\n@dataclass\nclass Mark:\n    _: KW_ONLY\n    sign: str = '!'\n\n"
        "def shout(documents):\n    return pa.table({'n': [len(Mark().sign)] * len(documents)})\n"
    )
    assert own(tmp_path, code).apply(documents("a")).signals["own_loud_n"].to_pylist() == [1]


def test_without_a_document_it_is_not_called(tmp_path: Path) -> None:
    effect = own(tmp_path, SHOUT).apply(documents())
    assert effect.signals["own_loud_length"].type == pa.int64()
    assert len(effect.signals["own_loud_length"]) == len(effect.places) == 0


def test_a_shape_that_changes_after_the_probe_is_refused(tmp_path: Path) -> None:
    code = HEAD + (
        "def shout(documents):\n"
        "    name = 'odd' if documents['text'][0].as_py() == 'odd' else 'even'\n"
        "    return pa.table({name: [1] * documents.num_rows})\n"
    )
    act = own(tmp_path, code)
    with pytest.raises(ConfigError, match="other columns than on the probe"):
        act.apply(documents("odd"))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no file transforms/mine\.py"):
        Own(OwnSpec("loud", "mine:shout"), tmp_path)
    with pytest.raises(NotFound, match="mine has no function whisper"):
        own(tmp_path, SHOUT, "whisper")
    with pytest.raises(ConfigError, match="cannot be imported: SyntaxError"):
        own(tmp_path, "def shout(:\n")
    with pytest.raises(ConfigError, match="cannot be imported: ModuleNotFoundError"):
        own(tmp_path, "import nothing_of_this_name\n")
    with pytest.raises(ConfigError, match="does not take the parameters of the spec: .*'words'"):
        own(tmp_path, SHOUT, parameters='{"words": 3}')


def test_what_a_file_says_at_import_is_not_repeated(tmp_path: Path) -> None:
    code = "TOKEN = 'hunter2'\nraise RuntimeError('cannot log in with ' + TOKEN)\n"
    with pytest.raises(ConfigError, match="RuntimeError at line 2") as caught:
        own(tmp_path, code)
    assert "hunter2" not in str(caught.value)


def test_what_it_prints_is_no_part_of_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = SHOUT.replace("    return", "    print('called')\n    return") + "print('imported')\n"
    own(tmp_path, code).apply(documents("a"))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("imported\ncalled\n")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"function": "../evil:run"}, "is no module:function"),
        ({"function": "a.b:run"}, "is no module:function"),
        ({"function": "run"}, "is no module:function"),
        ({"function": "a:run", "name": "No Name"}, "is no name of a transform"),
        ({"function": "a:run", "parameters": 3}, "a table was expected"),
        ({"function": "a:run", "parameters": {"x": float("nan")}}, "are no JSON"),
        ({"functions": "a:run"}, "unknown key 'functions'"),
    ],
)
def test_a_slip_is_an_error(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        own_spec(table, "news.toml")


def test_the_example_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "transforms").mkdir()
    (tmp_path / "transforms" / "my_text.py").write_text(code, encoding="utf-8")
    act = Own(OwnSpec("menu", "my_text:without_menu", '{"words": 3}'), tmp_path)
    effect = act.apply(documents("Home\nAbout us\nThe text begins here.\nEnd", "One line"))
    assert effect.texts.to_pylist() == ["The text begins here.\nEnd"]
    assert effect.signals["own_menu_lines"].to_pylist() == [2, 1]
