"""Files of encoded rows on an executor's local disk: written once, read in every later pass, trusted by digest only.

A file lies in a folder that only its owner may enter, inside the folders that Spark uses for its own spilled rows. What
is read from it is hashed and compared with the digests that the driver has seen; a process that has done so once, and
finds the file untouched since, need not hash it again.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING

from dpcate.tables.packing import digest_of, packed_size, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import BinaryIO, Self

    from dpcate.tables.rows import Rows

__all__ = ["FileLostError", "RowFile", "read_batches", "remove_folders"]

_FOLDER = "dpcate-"
_REMEMBER = 10_000

_Signature = tuple[int, ...]
_hashed: dict[str, tuple[_Signature, bytes]] = {}
"""What this process wrote or hashed itself: by path, the file's signature and its batches' digests."""


class FileLostError(Exception):
    """A file is not there, is not as it was written, or is on another machine; its rows must be encoded again."""


class RowFile:
    """A new file of encoded rows; it goes again if the block that writes it fails.

    Parameters
    ----------
    token
        Names the fit, so that its files can be found when it ends; if empty, no file is written.
    part
        The partition whose rows are written; spreads files over several disks.
    """

    def __init__(self, token: str, part: int) -> None:
        self._token, self._part = token, part
        self._file: BinaryIO | None = None
        self._digests: list[bytes] = []
        self._given_up = not token
        self.path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is None:
            return
        try:
            if kind is None and self.path:
                _remember(self.path, _signature(self._file), self._digests)
            elif kind is not None:
                self._give_up()
        finally:
            self._file.close()

    def write(self, packed: bytes, digest: bytes) -> None:
        """Append one batch; a disk that is full or cannot be written leaves ``path`` empty."""
        if self._given_up:
            return
        try:
            if self._file is None:
                self.path = os.path.join(_private_folder(self._token, self._part), uuid.uuid4().hex)
                self._file = open(self.path, "xb", buffering=0, opener=_owner_only)  # noqa: SIM115 - closed in __exit__
            view = memoryview(packed)
            while view:
                view = view[self._file.write(view) :]
        except OSError:
            self._give_up()
        self._digests.append(digest)

    def _give_up(self) -> None:
        if self.path:
            _hashed.pop(self.path, None)
            with suppress(OSError):
                os.unlink(self.path)
        self._given_up, self.path = True, ""


def read_batches(path: str, batches: Sequence[tuple[int, bytes]], n_features: int, key: bytes) -> Iterator[Rows]:
    """Yield the batches of a file; each is good until the next is asked for, because they share one buffer.

    Parameters
    ----------
    path
        The file.
    batches
        Number of rows and digest of every batch, as the driver knows them.
    n_features
        Features per row.
    key
        Of the digests.

    Raises
    ------
    FileLostError
        When the file is not exactly what these digests say; what was yielded before must then be thrown away.
    """
    try:
        with open(path, "rb", buffering=0, opener=_no_link) as file:
            yield from _checked(file, path, batches, n_features, key)
    except OSError:
        raise FileLostError from None


def _checked(
    file: BinaryIO, path: str, batches: Sequence[tuple[int, bytes]], n_features: int, key: bytes
) -> Iterator[Rows]:
    sizes = [packed_size(n_rows, n_features) for n_rows, _ in batches]
    digests = [digest for _, digest in batches]
    before = _signature(file)
    if os.fstat(file.fileno()).st_size != sum(sizes):
        raise FileLostError
    known = _hashed.get(path) == (before, b"".join(digests))
    buffer = memoryview(bytearray(max(sizes, default=0)))
    for (n_rows, digest), size in zip(batches, sizes, strict=True):
        packed = buffer[:size]
        _fill(file, packed)
        if not known and digest_of(packed, key) != digest:
            raise FileLostError
        yield unpack(packed, n_rows, n_features)
    if _signature(file) != before:  # somebody wrote to it meanwhile
        raise FileLostError
    _remember(path, before, digests)


def remove_folders(token: str, others: Sequence[str] = ()) -> None:
    """Remove the files of a fit from this machine: from its usual folders and from ``others``."""
    usual = [os.path.join(base, _FOLDER + token) for base in _local_folders()]
    for folder in {*usual, *others}:
        if os.path.basename(folder) == _FOLDER + token:
            shutil.rmtree(folder, ignore_errors=True)


def _local_folders() -> list[str]:
    """Return the folders where Spark keeps spilled rows on this machine; it tells its Python processes."""
    told = [folder for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if folder]
    return told or [tempfile.gettempdir()]


def _private_folder(token: str, part: int) -> str:
    bases = _local_folders()
    for k in range(len(bases)):
        folder = os.path.join(bases[(part + k) % len(bases)], _FOLDER + token)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        except OSError:
            continue
        if _is_private(folder):
            return folder
    raise OSError("no folder for encoded rows")


def _is_private(folder: str) -> bool:
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _signature(file: BinaryIO) -> _Signature:
    """Return what changes when anybody writes to a file."""
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _remember(path: str, signature: _Signature, digests: Sequence[bytes]) -> None:
    if len(_hashed) >= _REMEMBER:
        _hashed.clear()
    _hashed[path] = signature, b"".join(digests)


def _fill(file: BinaryIO, view: memoryview) -> None:
    while view:
        n_read = file.readinto(view)  # type: ignore[attr-defined]
        if not n_read:
            raise FileLostError
        view = view[n_read:]
