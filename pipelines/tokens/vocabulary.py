"""What a tokenizer.json says, and the file that the engines are given instead of it.

Both engines turn a special token's name, where a text spells it, into that token. A
text must stay text, so the engines never hear of special tokens; the end-of-document
token is appended by us. Added tokens that are not special (``<think>``) stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError

_FILE_HINT = "give the tokenizer.json of a Hugging Face tokenizer that lies on this machine"
_MAX_ID = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer.json, read.

    Attributes:
        digest: of the file's bytes.
        end_id: the id of the end-of-document token.
        num_ids: the largest id + 1, added tokens included.
        engine_file: the JSON for the engines: no special tokens, no templates that add
            tokens, no truncation, no padding; every other id as before.
        kept: name to id of the added tokens that a text may still spell.
    """

    digest: Digest
    end_id: int
    num_ids: int
    engine_file: bytes = field(repr=False)
    kept: Mapping[str, int] = field(repr=False)


def load_vocabulary(path: Path, end_of_document: str) -> Vocabulary:
    """Reads a tokenizer.json; a name that is no file is never looked for elsewhere.

    Raises:
        ConfigError: no such file, no tokenizer.json, or `end_of_document` is not in it.
    """
    try:
        if not path.is_file() and path.exists():  # a pipe would be waited for
            raise ConfigError(f"tokenizer {path}: not an ordinary file", _FILE_HINT)
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"tokenizer {path}: {reason}", _FILE_HINT) from error
    try:
        return _parse(data, end_of_document)
    except _Malformed as error:
        raise ConfigError(f"tokenizer {path}: {error}", error.hint) from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
        raise ConfigError(f"tokenizer {path}: not a tokenizer.json", _FILE_HINT) from None


class _Malformed(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _parse(data: bytes, end_of_document: str) -> Vocabulary:
    file = orjson.loads(data)
    added = {str(token["content"]): int(token["id"]) for token in file.get("added_tokens") or ()}
    ids = _model_ids(file["model"]) | added
    if end_of_document not in ids:
        raise _Malformed(f"no token {end_of_document!r} to end a document with", _known(file))
    num_ids = max(ids.values()) + 1
    if min(ids.values()) < 0 or num_ids > _MAX_ID:
        raise ValueError("an id is out of range")
    engine_file, kept = _without_specials(file, end_of_document)
    return Vocabulary(digest_of(data), ids[end_of_document], num_ids, engine_file, kept)


def _model_ids(model: Mapping[str, Any]) -> dict[str, int]:
    vocab = model["vocab"]
    if isinstance(vocab, list):
        return {str(piece): number for number, (piece, _) in enumerate(vocab)}
    return {str(token): int(number) for token, number in vocab.items()}


def _known(file: Mapping[str, Any]) -> str:
    specials = [token["content"] for token in file.get("added_tokens") or () if token["special"]]
    if not specials:
        return "the file lists no special tokens"
    more = ", ..." if len(specials) > 8 else ""
    return "it has " + ", ".join(map(repr, specials[:8])) + more


def _without_specials(file: dict[str, Any], end: str) -> tuple[bytes, dict[str, int]]:
    added = file.get("added_tokens") or []
    kept = [token for token in added if not token["special"] and token["content"] != end]
    ids = {str(token["content"]): int(token["id"]) for token in kept}
    unknown = file["model"].get("unk_token")
    inside = ids | {t["content"]: t["id"] for t in added if t["content"] == unknown}
    # An added token that the model does not know is numbered anew by its place in the
    # list, which has just become shorter. One that the model knows keeps its id.
    if isinstance(file["model"]["vocab"], dict):
        file["model"]["vocab"].update(inside)
    quiet = {"post_processor": None, "truncation": None, "padding": None}
    return orjson.dumps({**file, **quiet, "added_tokens": kept}), ids
