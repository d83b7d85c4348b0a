"""Archives as sources: which members are read, and what is told of the others.

A member is read if a file of that name in a folder would be: by its ending, hidden ones
passed over. Archives inside archives are not opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipelines.ingest.places.endings import archive_of, endings_of, is_hidden, is_of
from pipelines.ingest.places.files import SourceFile
from pipelines.ingest.places.members import digest_of_range
from pipelines.ingest.places.opening import OpenFile, blocks_of
from pipelines.ingest.places.ranges import FileRange, Packed, Unreadable
from pipelines.ingest.places.streams import StreamFault, decompressed
from pipelines.ingest.places.tarred import FileTape, StreamTape, TarMember, tar_members
from pipelines.ingest.places.zipped import CorruptZip, ZipMember, located, unpacked, zip_members
from pipelines.spec.source import SourceSpec

_NESTED = Unreadable("nested_archive", "an archive inside an archive")
# How a member of a tar archive is marked that the archive's end cut off.
_CUT_OFF = "cut-off"


def wanted_by(source: SourceSpec) -> Callable[[str], bool]:
    """Whether a member is told of: one that is read, or an archive."""
    endings = endings_of(source.format)

    def wanted(name: str) -> bool:
        return not is_hidden(name) and (is_of(name, endings) or bool(archive_of(name)))

    return wanted


def archive_ranges(
    source: SourceSpec, file: SourceFile, opened: OpenFile, kind: str
) -> Iterator[FileRange]:
    """The members of an archive in the order in which they lie, and its damage.

    Args:
        kind: as `archive_of` names it. The members of a compressed one have no content
            of their own: it is one stream.

    Raises:
        OSError, Conflict, Unavailable: it cannot be read.
    """
    if kind == "zip":
        yield from _zip_ranges(source, file, opened)
    elif kind == "tar":
        for member in tar_members(FileTape(opened), wanted_by(source)):
            yield _with_content(opened, _tar_range(file, opened.size_bytes, member))
    else:
        blocks = blocks_of(opened, 0, opened.size_bytes)
        for member in tape_members(blocks, kind, source)[1]:
            yield _told(file, member)


def tape_members(
    blocks: Iterator[bytes], kind: str, source: SourceSpec
) -> tuple[StreamTape, Iterator[TarMember]]:
    """The members of a compressed archive, and the tape to read them from."""
    tape = StreamTape(decompressed(blocks, kind.removeprefix("tar.")))
    return tape, (_judged(member) for member in tar_members(tape, wanted_by(source)))


def taken(tape: StreamTape, member: TarMember) -> Iterator[bytes]:
    """The bytes of a member of a compressed archive.

    Raises:
        StreamFault: after everything before the fault was given.
    """
    yield from tape.take(member.num_bytes)
    if tape.position < member.start + member.num_bytes:
        raise StreamFault("truncated_stream", f"tar ends early at byte {tape.position}")


def opened_member(blocks: Iterator[bytes], part: FileRange) -> Iterator[bytes]:
    """The bytes of a range of a file as they were before they were put into an archive.

    Raises:
        StreamFault: after everything before the fault was given.
    """
    if part.packed is None:
        yield from blocks
    elif part.packed.method == _CUT_OFF:
        yield from blocks
        raise StreamFault(
            "truncated_stream", f"a member of {part.packed.num_bytes} bytes is cut off"
        )
    else:
        yield from unpacked(blocks, part.packed)


def _judged(member: TarMember) -> TarMember:
    if member.unreadable is None and archive_of(member.name):
        return TarMember(member.name, member.start, member.num_bytes, _NESTED)
    return member


def _told(file: SourceFile, member: TarMember) -> FileRange:
    return FileRange(
        file.path,
        member.start,
        member.num_bytes,
        member=member.name,
        state=file.state,
        unreadable=member.unreadable,
    )


def _tar_range(file: SourceFile, size: int, member: TarMember) -> FileRange:
    member = _judged(member)
    left = max(min(member.num_bytes, size - member.start), 0)
    packed = None if left == member.num_bytes else Packed(_CUT_OFF, member.num_bytes, 0)
    return FileRange(
        file.path,
        member.start,
        left,
        member=member.name,
        state=file.state,
        packed=packed,
        unreadable=member.unreadable,
    )


def _zip_ranges(source: SourceSpec, file: SourceFile, opened: OpenFile) -> Iterator[FileRange]:
    members: list[ZipMember] = []
    wrong = ""
    try:
        for member in zip_members(opened, wanted_by(source)):
            members.append(member)  # noqa: PERF402 - those before the damage stand
    except CorruptZip as error:
        wrong = str(error)
    for there in located(opened, members):
        yield _with_content(opened, _zip_range(file, there))
    if wrong:
        damage = Unreadable("corrupt_archive", f"zip: {wrong}")
        length = 0 if members else opened.size_bytes
        yield _with_content(
            opened, FileRange(file.path, 0, length, state=file.state, unreadable=damage)
        )


def _zip_range(file: SourceFile, member: ZipMember) -> FileRange:
    unreadable = member.unreadable
    if unreadable is None and archive_of(member.name):
        unreadable = _NESTED
    return FileRange(
        file.path,
        member.start,
        member.num_bytes,
        member=member.name,
        state=file.state,
        packed=member.packed,
        unreadable=unreadable,
    )


def _with_content(opened: OpenFile, part: FileRange) -> FileRange:
    raw = digest_of_range(opened, part.start, part.start + part.length)
    return part.with_content(raw)
