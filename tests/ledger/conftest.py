"""Ledgers to test on: a SQLite file, and a database on a PostgreSQL server that the tests start themselves."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from dpcate.ledger import Ledger

_SECONDS_TO_START = 60


def binary(name):
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: path.parts[4].zfill(4))
    return shutil.which(name) or (str(debian[-1]) if debian else None)


def account():
    """The user id and group id to run the server as; it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL will not run as root, and there is no other account")


@pytest.fixture(scope="session")
def server():
    """A running PostgreSQL server: the folder of its socket."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver psycopg is not installed")
    initdb, postgres = binary("initdb"), binary("postgres")
    if initdb is None or postgres is None:
        pytest.skip("the PostgreSQL server's binaries (initdb, postgres) are not installed")
    who = account()
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # not tmp_path, which another account may not enter
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        calls = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **who}
        setup = [initdb, "-D", folder / "data", "-U", "ledger", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(setup, check=True, capture_output=True, timeout=120, **calls)
        start = [postgres, "-D", folder / "data", "-k", folder, "-c", "listen_addresses="]
        with open(folder / "log", "wb") as log, subprocess.Popen(start, stdout=log, stderr=log, **calls) as process:
            try:
                wait_for(folder, process)
                yield folder
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(timeout=60)
    finally:
        shutil.rmtree(folder)


def wait_for(folder, process):
    import psycopg

    for _ in range(_SECONDS_TO_START * 10):
        if process.poll() is not None:
            break
        try:
            psycopg.connect(host=str(folder), user="ledger", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"PostgreSQL did not start: {(folder / 'log').read_text()}")


_NUMBERS = itertools.count()


@pytest.fixture
def postgresql(server):
    """The address of a place on the server that holds no ledger yet."""
    import psycopg

    name = f"ledger{next(_NUMBERS)}"  # a schema of its own is as good as a database, and faster
    with psycopg.connect(host=str(server), user="ledger", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"postgresql+psycopg://ledger@/postgres?host={server}&options=-csearch_path%3D{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """The address of a ledger that does not exist yet, on either kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.sqlite")
    return request.getfixturevalue("postgresql")


@pytest.fixture
def ledger(where):
    """A ledger with the data set "trial": epsilon = 2 at delta = 1e-5 for replacing one row."""
    made = Ledger.open(where)
    made.create("trial", epsilon=2.0, delta=1e-5, neighbours="replace")
    return made
