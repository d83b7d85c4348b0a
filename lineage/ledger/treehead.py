"""Tree heads: the ledger's signed root, in C2SP tlog-checkpoint form (frozen).

A tree head is a signed note: the origin, the size in decimal, the root in base64,
an empty line, and one line a signature. C2SP calls it a checkpoint; here that word
means saved weights. Others may add signature lines: a witness's cosignature is one.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from lineage.errors import IntegrityError

_ED25519 = b"\x01"
_DASH = "\u2014 "
_KEY_HASH_BYTES = 4
_MAX_SIZE_DIGITS = 20


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line of a note.

    Attributes:
        name: the key's name.
        key_hash: 4 bytes that tell keys of one name apart.
        value: the signature; 64 bytes for Ed25519.
    """

    name: str
    key_hash: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class TreeHead:
    """The root of the first `size` leaves of one log.

    Attributes:
        origin: ``shardline/<log_id>``.
        size: leaves.
        root: 32 bytes.
        signatures: as they stand in the note; parsing does not verify them.
        signed: the exact bytes that the signatures cover.
    """

    origin: str
    size: int
    root: bytes
    signatures: tuple[NoteSignature, ...]
    signed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class LogSigner:
    """The key that signs a log's tree heads.

    Attributes:
        private_key: never shown.
    """

    private_key: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> Ed25519PublicKey:
        """The public half, which the genesis entry pins."""
        return self.private_key.public_key()


def origin_of(log_id: str) -> str:
    """The origin of a log's tree heads, which is also its key's name."""
    return f"shardline/{log_id}"


def sign_tree_head(
    origin: str, size: int, root: bytes, signer_name: str, key: Ed25519PrivateKey
) -> str:
    """The text of a tree head with one signature.

    Args:
        root: 32 bytes.
        signer_name: has no space and no plus sign.

    Raises:
        ValueError: a name or a number that a note cannot hold.
    """
    if not _is_name(signer_name) or not origin or "\n" in origin or size < 0 or len(root) != 32:
        raise ValueError("a tree head has an origin, a key name, a size and a root of 32 bytes")
    body = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    key_hash = key_hash_of(signer_name, key.public_key())
    signature = base64.b64encode(key_hash + key.sign(body.encode())).decode()
    return f"{body}\n{_DASH}{signer_name} {signature}\n"


def parse_tree_head(text: str) -> TreeHead:
    """Reads a tree head; its signatures are NOT verified.

    Raises:
        IntegrityError: the text is no signed note with an origin, a size and a root.
    """
    body, separator, signature_lines = text.rpartition("\n\n")
    lines = body.split("\n")
    if not separator or len(lines) < 3 or not all(lines) or not signature_lines.endswith("\n"):
        raise IntegrityError("not a tree head")
    return TreeHead(
        origin=lines[0],
        size=_parse_size(lines[1]),
        root=_decoded(lines[2], 32),
        signatures=tuple(_parse_signature(line) for line in signature_lines[:-1].split("\n")),
        signed=_utf8(body + "\n"),
    )


def verify_tree_head(text: str, origin: str, name: str, public_key: Ed25519PublicKey) -> TreeHead:
    """Reads a tree head and verifies one key's signature; others are not looked at.

    Raises:
        IntegrityError: not a tree head, another origin, or no valid signature by this key.
    """
    head = parse_tree_head(text)
    if head.origin != origin:
        raise IntegrityError(f"a tree head of another log: {head.origin[:80]!r}")
    key_hash = key_hash_of(name, public_key)
    for signature in head.signatures:
        if (signature.name, signature.key_hash) == (name, key_hash):
            try:
                public_key.verify(signature.value, head.signed)
            except InvalidSignature:
                break
            return head
    raise IntegrityError(f"the tree head of size {head.size} has no valid signature by {name}")


def key_hash_of(name: str, public_key: Ed25519PublicKey) -> bytes:
    """4 bytes: the start of SHA-256 over name, newline, 0x01 and the raw public key."""
    named = name.encode() + b"\n" + _ED25519 + public_key.public_bytes_raw()
    return hashlib.sha256(named).digest()[:_KEY_HASH_BYTES]


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(char.isspace() for char in name)


def _parse_size(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_SIZE_DIGITS):
        raise IntegrityError("the size of a tree head is not a count")
    if str(int(text)) != text:
        raise IntegrityError("the size of a tree head has leading zeros")
    return int(text)


def _parse_signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not _is_name(name):
        raise IntegrityError("a signature line of a tree head cannot be read")
    decoded = _decoded(encoded)
    if len(decoded) <= _KEY_HASH_BYTES:
        raise IntegrityError("a signature of a tree head is too short")
    return NoteSignature(name, decoded[:_KEY_HASH_BYTES], decoded[_KEY_HASH_BYTES:])


def _decoded(text: str, num_bytes: int | None = None) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        raise IntegrityError("base64 in a tree head cannot be read") from None
    # Two texts must never stand for one tree head: unused bits have to be zero.
    if base64.b64encode(decoded).decode() != text or num_bytes not in (None, len(decoded)):
        raise IntegrityError("base64 in a tree head has another length or form")
    return decoded


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise IntegrityError("a tree head is not UTF-8 text") from None
