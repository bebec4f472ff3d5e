"""The release folder: model, card and report, all of them or none.

The files are written and flushed in a hidden folder beside the target, which then takes the target's name in one step.
A run that is killed leaves at most that hidden folder; the target is untouched until it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from dpcate.errors import DocumentError, ParameterError
from dpcate.report.card import FORMAT, make_card
from dpcate.report.exchange import replace_folder
from dpcate.report.page import render_report

if TYPE_CHECKING:
    from dpcate.learners import CateLearner

__all__ = ["FILES", "check_release_folder", "write_release"]

FILES = ("model.json", "card.json", "report.html")


def write_release(
    learner: CateLearner, out_dir: str | Path, *, title: str | None = None, overwrite: bool = False
) -> Path:
    """Write ``model.json``, ``card.json`` and ``report.html`` to a folder, all or nothing, and return the folder.

    Parameters
    ----------
    learner
        A fitted or loaded learner.
    out_dir
        The folder. It must not exist, be empty, or, with ``overwrite``, hold an earlier release and nothing else.
    title
        What the release is about; None makes one from the schema's names.
    overwrite
        Whether an earlier release may be replaced.

    Raises
    ------
    ParameterError
        When something else is in the folder's place.
    DocumentError
        When the files cannot be written; then nothing has been.

    Privacy
    -------
    Writes released numbers and public facts: post-processing.
    """
    target = check_release_folder(out_dir, overwrite=overwrite)
    card = make_card(learner, title=title)
    page = render_report(learner, card, title=title)
    try:
        draft = _make_draft(target)
    except OSError as problem:
        raise _refused(target, problem) from None
    try:
        learner.save(draft / "model.json")
        (draft / "card.json").write_text(json.dumps(card, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        (draft / "report.html").write_text(page, encoding="utf-8")
        _flush(draft)
        _publish(draft, target)
    except OSError as problem:
        raise _refused(target, problem) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone by now if all went well
    return target


def check_release_folder(out_dir: str | Path, *, overwrite: bool = False) -> Path:
    """Return the folder as an absolute path if a release can go there; to be called before anything is spent.

    Parameters
    ----------
    out_dir, overwrite
        As for :func:`write_release`.
    """
    target = Path(os.path.abspath(out_dir))  # links in the path stay links
    try:
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise ParameterError(f"a release must go to a folder; {str(out_dir)!r} is a file or a link.")
        if target.is_dir() and any(target.iterdir()):
            _check_replaceable(target, overwrite=overwrite)
        shutil.rmtree(_make_draft(target))
    except OSError as problem:
        raise _refused(target, problem) from None
    return target


def _check_replaceable(target: Path, *, overwrite: bool) -> None:
    if not _is_release(target):
        raise ParameterError(f"a release must go to a new or empty folder; {str(target)!r} holds other files.")
    if not overwrite:
        raise ParameterError(f"{str(target)!r} holds a release already; ask for `overwrite` to replace it.")


def _is_release(folder: Path) -> bool:
    """Return whether a folder holds an earlier release and nothing that would be lost with it."""
    if not {entry.name for entry in folder.iterdir()} <= set(FILES):
        return False
    try:
        card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and card.get("format") == FORMAT


def _make_draft(target: Path) -> Path:
    """Make the hidden folder beside the target, with the permissions that any new folder gets."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in count():
        draft = target.with_name(f".{target.name}.{os.getpid()}-{attempt}.tmp")
        try:
            draft.mkdir()
        except FileExistsError:
            continue
        return draft
    raise AssertionError("unreachable")


def _flush(folder: Path) -> None:
    """Make sure that the files and their names are on disk."""
    for path in (*(folder / name for name in FILES), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _publish(draft: Path, target: Path) -> None:
    """Give the finished folder its name."""
    if target.is_dir() and any(target.iterdir()):
        shutil.rmtree(replace_folder(draft, target), ignore_errors=True)
    else:
        draft.rename(target)
    handle = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refused(target: Path, problem: OSError) -> DocumentError:
    reason = problem.strerror or type(problem).__name__
    return DocumentError(f"cannot write a release to {str(target)!r}: {reason}. Nothing was written there.")
