"""A release is written whole or not at all."""

import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from dpcate import load
from dpcate.errors import DocumentError, ParameterError
from dpcate.report import check_card, check_release_folder, exchange, release, write_release

KILLED = """
import pathlib, sys, time
from dpcate import load
from dpcate.report import write_release
written = pathlib.Path.write_text
def slow(self, text, *args, **kwargs):
    done = written(self, text[: len(text) // 2] if self.name == sys.argv[3] else text, *args, **kwargs)
    if self.name == sys.argv[3]:
        print("writing", flush=True)
        time.sleep(60)
    return done
pathlib.Path.write_text = slow
write_release(load(sys.argv[1]), sys.argv[2], overwrite=True)
"""


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def full_disk(monkeypatch):
    """Writing the card fails as on a full disk, after a few bytes."""
    written = pathlib.Path.write_text

    def refuse(self, text, *args, **kwargs):
        if self.name == "card.json":
            written(self, text[:10], *args, **kwargs)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written(self, text, *args, **kwargs)

    monkeypatch.setattr(pathlib.Path, "write_text", refuse)


def test_a_release_holds_model_card_and_report(fitted, tmp_path):
    folder = write_release(fitted, tmp_path / "deep" / "release", title="A study")
    assert entries(folder) == ["card.json", "model.json", "report.html"]
    card = json.loads((folder / "card.json").read_text())
    check_card(card)
    assert card["title"] == "A study"
    assert "<h1>A study</h1>" in (folder / "report.html").read_text()
    assert load(folder / "model.json").ate() == fitted.ate()
    assert entries(folder.parent) == ["release"]


def test_an_empty_folder_is_used(fitted, tmp_path):
    (tmp_path / "out").mkdir()
    write_release(fitted, tmp_path / "out")
    assert len(entries(tmp_path / "out")) == 3


def test_other_peoples_files_are_never_replaced(fitted, tmp_path):
    out = tmp_path / "out"
    write_release(fitted, out)
    (out / "notes.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ParameterError, match="holds other files"):
            write_release(fitted, out, overwrite=overwrite)
    assert len(entries(out)) == 4
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(ParameterError, match="must go to a folder"):
        write_release(fitted, file)
    (tmp_path / "link").symlink_to(out)
    with pytest.raises(ParameterError, match="must go to a folder"):
        write_release(fitted, tmp_path / "link", overwrite=True)


def test_an_earlier_release_is_replaced_only_when_asked_for(fitted, tmp_path):
    write_release(fitted, tmp_path / "out", title="first")
    with pytest.raises(ParameterError, match="overwrite"):
        write_release(fitted, tmp_path / "out", title="second")
    assert json.loads((tmp_path / "out" / "card.json").read_text())["title"] == "first"
    write_release(fitted, tmp_path / "out", title="second", overwrite=True)
    assert json.loads((tmp_path / "out" / "card.json").read_text())["title"] == "second"
    assert entries(tmp_path) == ["out"]


def test_where_folders_cannot_be_exchanged_the_old_one_steps_aside(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
    write_release(fitted, tmp_path / "out", title="first")
    write_release(fitted, tmp_path / "out", title="second", overwrite=True)
    assert json.loads((tmp_path / "out" / "card.json").read_text())["title"] == "second"
    assert entries(tmp_path) == ["out"]


def test_if_the_new_folder_cannot_take_its_place_the_old_one_comes_back(tmp_path, monkeypatch):
    monkeypatch.setattr(exchange, "_exchanged", lambda *_: False)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("kept")
    with pytest.raises(FileNotFoundError):
        exchange.replace_folder(tmp_path / "missing", tmp_path / "old")
    assert (tmp_path / "old" / "file").read_text() == "kept"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two folders in one step")
def test_two_folders_are_exchanged_in_one_step(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange._exchanged(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system does not exchange folders")
    assert entries(tmp_path / "one") == ["other"]
    assert entries(tmp_path / "other") == ["one"]


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(fitted, tmp_path, full_disk):
    with pytest.raises(
        DocumentError, match=r"cannot write a release to .*No space left on device.*Nothing was written"
    ):
        write_release(fitted, tmp_path / "out")
    assert entries(tmp_path) == []


def test_a_full_disk_keeps_the_earlier_release(fitted, tmp_path, monkeypatch):
    write_release(fitted, tmp_path / "out", title="first")

    def refuse(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(release, "_flush", refuse)
    with pytest.raises(DocumentError, match="No space left"):
        write_release(fitted, tmp_path / "out", title="second", overwrite=True)
    assert json.loads((tmp_path / "out" / "card.json").read_text())["title"] == "first"
    assert entries(tmp_path) == ["out"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_spent(tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(pathlib.Path, "mkdir", refuse)
    with pytest.raises(DocumentError, match="Permission denied"):
        check_release_folder(tmp_path / "out")


def test_a_real_folder_without_permission_is_refused(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(DocumentError, match="Permission denied"):
        check_release_folder(tmp_path / "out")


def test_a_file_in_the_way_of_the_parent_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DocumentError, match="cannot write a release"):
        check_release_folder(tmp_path / "file" / "out")


def test_checking_leaves_no_trace(tmp_path):
    assert check_release_folder(tmp_path / "out") == tmp_path / "out"
    assert entries(tmp_path) == []


@pytest.mark.parametrize(("name", "earlier"), [("model.json", False), ("card.json", True), ("report.html", False)])
def test_a_killed_run_leaves_no_half_release(fitted, tmp_path, name, earlier):
    fitted.save(tmp_path / "saved.json")
    out = tmp_path / "out"
    if earlier:
        write_release(fitted, out, title="first")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path / "saved.json", out, name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert out.exists() == earlier
    if earlier:
        assert entries(out) == ["card.json", "model.json", "report.html"]
        assert json.loads((out / "card.json").read_text())["title"] == "first"
    write_release(fitted, out, title="second", overwrite=True)
    assert json.loads((out / "card.json").read_text())["title"] == "second"
