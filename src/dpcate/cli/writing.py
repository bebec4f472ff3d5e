"""New files and folders: checked before anything is spent, written whole or not at all.

Nothing is ever overwritten. Room on the disk is held from before a ledger is asked until the release is written, so
that a full disk is noticed while it costs nothing.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dpcate.cli.errors import cannot_write
from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ROOM", "check_new", "held_room", "write_new"]

ROOM = 8 * 2**20
"""Bytes that are held for a release; a report is under 3 MB, a model and a card are smaller."""


def check_new(path: str | Path, what: str) -> Path:
    """Return the path if something can be made there: it is free, and its folder exists."""
    path = Path(path)
    if os.path.lexists(path):
        raise ParameterError(f"{what} must be new; {str(path)!r} exists and is not overwritten. Choose another name.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"{what} must go into a folder that exists; {str(path.parent)!r} is none.")
    return path


@contextmanager
def held_room(path: Path) -> Iterator[Callable[[], None]]:
    """Hold room on the disk beside ``path``; yields the function that gives it back.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with held_room(Path(folder) / "release") as free:
    ...         free()
    ...     os.listdir(folder)
    []
    """
    with _ballast(path) as ballast:
        yield ballast.close


def write_new(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file, then give it its name: a reader sees the whole file or none.

    Parameters
    ----------
    path
        The new file; see :func:`check_new`.
    write
        Gets the temporary path, which ends as ``path`` does.
    """
    descriptor, name = _temporary(path)
    os.close(descriptor)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        check_new(path, "The output")
        temporary.replace(path)
    except OSError as error:
        raise ParameterError(cannot_write(path, error)) from None
    finally:
        temporary.unlink(missing_ok=True)


def _ballast(path: Path) -> IO[bytes]:
    """Return an open file of ROOM bytes; it has no name, so not even a killed run leaves it behind."""
    made: IO[bytes] | None = None
    try:
        made = tempfile.TemporaryFile(dir=path.absolute().parent, buffering=0)  # noqa: SIM115 - the caller closes it
        left = ROOM
        while left:
            left -= made.write(bytes(min(left, 2**20)))
        os.fsync(made.fileno())
    except OSError as error:
        if made is not None:
            made.close()
        raise ParameterError(cannot_write(path, error)) from None
    return made


def _temporary(path: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as error:
        raise ParameterError(cannot_write(path, error)) from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
