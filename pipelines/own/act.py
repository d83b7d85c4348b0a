"""The act of a user's function: called on tables, checked, and known by what it does.

The function is handed a table of documents (columns ``text``, ``url``, ``licence``,
``encoding``, ``source``) and its parameters, and returns a table of as many rows with
``text`` (edited texts), or columns of integers or booleans (signals), or both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from inspect import signature
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.clean.act import SHOWN, Effect
from pipelines.probe import PROBE_TEXTS, behaviour_of
from pipelines.spec.own import OwnSpec
from pipelines.transform import Transform

FOLDER = "transforms"
_TEXT = "text"
_IMPORT_HINT = "run the file by itself with python"
Function = Callable[..., object]


class Own:
    """One function of the user.

    Its identity is the digest of its file, its parameters, and its behaviour on the probe:
    nobody has to remember to raise a revision.

    Args:
        root: the workspace's root, below which ``transforms`` lies.

    Raises:
        NotFound: there is no such file or function.
        ConfigError: the file cannot be imported, or the function fails on the probe, gives
            another shape, or something else for the same document.
    """

    def __init__(self, spec: OwnSpec, root: Path) -> None:
        self.name = spec.name
        self._spec = spec
        self._parameters = json.loads(spec.parameters)
        path = root / FOLDER / f"{spec.function.partition(':')[0]}.py"
        self._file = str(path)
        self.source, self._function = _loaded(spec, path)
        self._check_parameters()
        self._probed = self._probe()
        own = [name for name in self._probed.column_names if name != _TEXT]
        self.columns = tuple(pa.field(self._signal(name), pa.int64()) for name in own)

    def transform(self) -> Transform:
        """What a build key knows of it."""
        rows = zip(*(column.to_pylist() for column in self._probed.columns), strict=True)
        outputs = (json.dumps(row, ensure_ascii=False).encode() for row in rows)
        parameters: dict[str, str | int | None] = {
            "function": self._spec.function,
            "source": str(self.source),
            "parameters": self._spec.parameters,
        }
        return Transform(f"own.{self.name}", 1, parameters, behaviour_of(outputs))

    def apply(self, documents: pa.Table) -> Effect:
        """Calls the function; where there is no document it is not called.

        Raises:
            ConfigError: it fails, or gives another shape than on the probe.
        """
        if documents.num_rows == 0:
            return Effect(signals={field.name: pa.array([], field.type) for field in self.columns})
        given = self._call(documents.select(SHOWN))
        if sorted(given.column_names) != sorted(self._probed.column_names):
            raise self._wrong("gives other columns than on the probe texts")
        signals = {
            self._signal(name): given[name].combine_chunks()
            for name in given.column_names
            if name != _TEXT
        }
        if _TEXT not in given.column_names:
            return Effect(signals=signals)
        before, after = documents[_TEXT].combine_chunks(), given[_TEXT].combine_chunks()
        places = np.flatnonzero(np.asarray(pc.not_equal(before, after)))
        return Effect(places, after.take(pa.array(places)), signals)

    def _signal(self, column: str) -> str:
        return f"own_{self.name}_{column}"

    def _probe(self) -> pa.Table:
        """The probe texts, twice in one order, and once in two halves from the last to the first.

        The order is another for every row, so that a look at a neighbour is seen.
        """
        table = _probe_table()
        once, again = self._call(table), self._call(table)
        back = pa.array(np.arange(table.num_rows)[::-1])
        turned, half = table.take(back), table.num_rows // 2
        parts = [self._call(turned.slice(0, half)), self._call(turned.slice(half))]
        if any(part.column_names != once.column_names for part in parts):
            raise self._wrong("gives other columns for other texts")
        if not once.equals(again) or not once.equals(pa.concat_tables(parts).take(back)):
            raise self._wrong(
                "gives something else for the same document",
                "a transform looks at one document at a time, and at no clock or chance",
            )
        return once

    def _check_parameters(self) -> None:
        """Names a parameter that is missing or too much, which a TypeError does not tell apart."""
        try:
            signature(self._function).bind(None, **self._parameters)
        except TypeError as error:
            what = f"does not take the parameters of the spec: {error}"
            raise self._wrong(what, "documents come first, parameters by name") from None
        except ValueError:  # a function of a compiled module tells nothing
            return

    def _call(self, documents: pa.Table) -> pa.Table:
        try:
            with redirect_stdout(sys.stderr):  # stdout is the command's answer
                given = self._function(documents, **self._parameters)
        # Whatever a user's function raises is one clear error; its message may hold text.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            what = f"raised {type(error).__name__}{_line_of(error, self._file)}"
            raise self._wrong(what, "try it on a table by itself") from None
        if not isinstance(given, pa.Table):
            raise self._wrong(f"gave a {type(given).__name__}, not a table of pyarrow")
        if given.num_rows != documents.num_rows:
            raise self._wrong(f"gave {given.num_rows} rows for {documents.num_rows}")
        if not given.column_names or len(set(given.column_names)) < given.num_columns:
            raise self._wrong("gave no columns, or two of one name")
        return pa.table({name: self._checked(name, given[name]) for name in given.column_names})

    def _checked(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if column.null_count:
            raise self._wrong(f"gave null in {name!r}")
        try:
            # Arrays made of raw buffers may hold anything.
            column.validate(full=True)
            return column.cast(self._wanted(name, column.type))
        except pa.ArrowInvalid:
            what = f"gave {column.type} in {name!r} that is not UTF-8 or does not fit 64 bits"
            raise self._wrong(what) from None

    def _wanted(self, name: str, kind: pa.DataType) -> pa.DataType:
        """The type that a column is kept in."""
        if name == _TEXT and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return pa.large_string()
        if name != _TEXT and name.isidentifier() and name.isascii() and name.islower():
            if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
                return pa.int64()
            hint = "signals are integers: give a share in millionths"
            raise self._wrong(f"gave {kind} in {name!r}", hint)
        raise self._wrong(
            f"gave a column {name[:40]!r} of {kind}", "text, or signals in lower case"
        )

    def _wrong(self, what: str, hint: str = "") -> ConfigError:
        return ConfigError(f"the transform {self.name} ({self._spec.function}) {what}", hint)


def _loaded(spec: OwnSpec, path: Path) -> tuple[Digest, Function]:
    module_name, _, function_name = spec.function.partition(":")
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        where = f"{FOLDER}/{module_name}.py"
        raise NotFound(f"the transform {spec.name}: there is no file {where}") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"the transform {spec.name}: cannot be read: {reason}") from None
    digest = digest_of(source)
    module = _executed(spec, path, source, digest)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise NotFound(f"the transform {spec.name}: {module_name} has no function {function_name}")
    return digest, function


def _executed(spec: OwnSpec, path: Path, source: bytes, digest: Digest) -> ModuleType:
    """Runs the very bytes that were digested: Python's cache goes by time and size alone."""
    # Under a name of its own, so that no installed module is shadowed.
    module = ModuleType(f"shardline_own_{spec.name}_{digest.hex[:16]}")
    module.__file__ = str(path)
    # Dataclasses and annotations look their module up.
    sys.modules[module.__name__] = module
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102
    except (Exception, SystemExit) as error:  # noqa: BLE001
        del sys.modules[module.__name__]
        what = f"{path.name} cannot be imported: {type(error).__name__}{_told(error, str(path))}"
        raise ConfigError(f"the transform {spec.name}: {what}", _IMPORT_HINT) from None
    return module


def _told(error: BaseException, file: str) -> str:
    """What an error at import says, if its words are Python's own and hold no value."""
    if isinstance(error, SyntaxError):
        return f" at line {error.lineno}: {error.msg}"
    words = f": {error}" if isinstance(error, ImportError | NameError) else ""
    return f"{_line_of(error, file)}{words}"


def _line_of(error: BaseException, file: str) -> str:
    """Where in the user's file it was raised, if it was there."""
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = f" at line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _probe_table() -> pa.Table:
    rows = len(PROBE_TEXTS)
    columns = {name: pa.nulls(rows, pa.string()) for name in SHOWN}
    columns[_TEXT] = pa.array(PROBE_TEXTS, pa.large_string())
    columns["source"] = pa.array(["probe"] * rows, pa.string())
    return pa.table(columns)
