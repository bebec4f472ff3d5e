"""Processes that spend at the same time, or are killed while they spend; run by ``test_processes.py``.

``processes.py together WHERE N MU`` lets N processes reserve three times each and prints how often each succeeded;
``processes.py killed WHERE N FILE`` kills N processes one after the other and notes in FILE what ``reserve`` returned;
``processes.py stepped WHERE N MU`` kills a process before and after each of its first N database calls, as far as there
are so many, and prints how each process ended.
"""

import itertools
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress

import sqlalchemy as sa

from dpcate.accounting import Gaussian, Guarantee
from dpcate.errors import BudgetError
from dpcate.ledger import Ledger
from dpcate.ledger.storage import Storage

BROKEN = 99
TRIES = 3  # each; too few for one process to take all


def child(run):
    """Fork a process that runs ``run`` and exits with what it returns."""
    pid = os.fork()
    if pid == 0:
        code = BROKEN
        try:
            code = run()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def together(where, n, mu):
    read, write = os.pipe()

    def spend():
        os.close(write)
        os.read(read, 1)  # returns when the parent closes its end: all start at once
        cost, spends = Guarantee(Gaussian(mu), "replace"), 0
        for _ in range(TRIES):
            with suppress(BudgetError):
                Ledger.open(where).reserve("trial", cost, what=f"process {os.getpid()}")
                spends += 1
        return spends

    children = [child(spend) for _ in range(n)]
    os.close(write)
    print(*(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))


def killed(where, n, path):
    cost = Guarantee(Gaussian(1e-6), "replace")
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    delays = random.Random(8)
    ends = []
    for _ in range(n):
        read, write = os.pipe()

        def spend(write=write):
            ledger = Ledger.open(where)
            while True:
                entry = ledger.reserve("trial", cost, what="to be killed")
                os.write(notes, f"{entry.hash}\n".encode())
                os.write(write, b".")

        pid = child(spend)
        os.close(write)
        os.read(read, 1)  # the first spend, which opens everything, is over; or the process is
        time.sleep(delays.uniform(0.0, 0.05))
        os.kill(pid, signal.SIGKILL)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os.close(read)
    print(*ends)


def stepped(where, n, mu):
    def spend(last):
        storage, calls = Storage(where), itertools.count()

        def step(*_):
            if next(calls) == last:
                os.kill(os.getpid(), signal.SIGKILL)

        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            sa.event.listen(storage.engine, name, step)
        Ledger(storage).reserve("trial", Guarantee(Gaussian(mu), "replace"), what=f"step {last}")
        return 0

    ends = []
    for last in range(n):
        pid = child(lambda last=last: spend(last))
        ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if ends[-1] == 0:
            break
    print(*ends)


if __name__ == "__main__":
    mode, place, number, extra = sys.argv[1:]
    if mode == "killed":
        killed(place, int(number), extra)
    else:
        {"together": together, "stepped": stepped}[mode](place, int(number), float(extra))
