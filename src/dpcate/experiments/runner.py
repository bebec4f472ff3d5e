"""A grid of runs over processes or over a cluster, recorded one by one as they end.

What is recorded is never run again, and a run that fails is recorded as failed. This process alone writes the store, so
killing it, or its workers, loses the runs in flight and nothing else.
"""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from dpcate.errors import NotAvailableError, ParameterError
from dpcate.experiments.run import failed_run, prepare_study, run_once
from dpcate.experiments.studies import StudyPaths

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from dpcate.experiments.grid import Cell
    from dpcate.experiments.record import RunRecord
    from dpcate.experiments.store import RunStore

__all__ = ["BACKENDS", "run_grid"]

BACKENDS = ("local", "dask")
Job = tuple["Cell", int, StudyPaths]


def run_grid(
    cells: Iterable[Cell],
    replicates: int,
    store: RunStore,
    *,
    backend: str = "local",
    scheduler: str | None = None,
    jobs: int | None = None,
    progress: bool = True,
    paths: StudyPaths | None = None,
) -> int:
    """Run every cell ``replicates`` times but for what the store has; return how many runs were made.

    Parameters
    ----------
    cells, replicates, store
        What to run, and where to keep it.
    backend
        ``"local"``: processes of this machine. ``"dask"``: the workers of a cluster that is up; dpcate must be
        installed there, and files of real studies must have the same paths.
    scheduler
        Address of the cluster's scheduler.
    jobs
        Local processes; None is one per core. Each has one thread for linear algebra, and dpcate's own passes use one
        thread up to 32,768 rows.
    progress
        Whether a bar with the time left is shown on standard error.
    paths
        Files of real studies.
    """
    if backend not in BACKENDS:
        raise ParameterError(f"`backend` must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    if backend == "dask" and not scheduler:
        raise ParameterError('`scheduler` must be given for backend "dask": the address of a running scheduler.')
    where = paths or StudyPaths()
    todo = _jobs_left(list(dict.fromkeys(cells)), replicates, store, where)
    for name in dict.fromkeys(cell.study for cell, _, _ in todo):
        prepare_study(name, where)  # a missing file shows now, not in the middle
    if todo:
        records = _on_cluster(todo, str(scheduler)) if backend == "dask" else _on_processes(todo, jobs)
        with closing(records):
            _keep(records, len(todo), store, progress=progress)
    return len(todo)


def _jobs_left(cells: Sequence[Cell], replicates: int, store: RunStore, paths: StudyPaths) -> list[Job]:
    """Return what is not recorded, replicate by replicate, so that the time left is a fair guess early on."""
    done = store.done()
    every = ((cell, replicate) for replicate in range(replicates) for cell in cells)
    return [(cell, replicate, paths) for cell, replicate in every if cell.key(replicate) not in done]


def _keep(records: Iterable[RunRecord], total: int, store: RunStore, *, progress: bool) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), speed_estimate_period=600, disable=not progress)
    failed = 0
    with bar:
        task = bar.add_task("runs", total=total)
        for record in records:
            store.add([record])
            failed += record.status == "failed"
            bar.update(task, advance=1, description=f"runs ({failed} failed)" if failed else "runs")


def _work(job: Job) -> RunRecord:
    """Run one job in a worker, where one thread is enough: the cores are busy with other runs."""
    _one_thread_for_good()
    return run_once(*job)


@lru_cache(maxsize=1)
def _one_thread_for_good() -> None:
    threadpool_limits(limits=1)


def _on_processes(todo: Sequence[Job], jobs: int | None) -> Generator[RunRecord]:
    try:
        from joblib import Parallel, cpu_count, delayed, parallel_config
    except ImportError:
        raise NotAvailableError('experiments need an extra: pip install "dpcate[reproduce]".') from None
    n_jobs = min(jobs or cpu_count(), len(todo))
    if n_jobs == 1:
        with threadpool_limits(limits=1):
            yield from (run_once(*job) for job in todo)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        yield from pool(delayed(_work)(job) for job in todo)


def _on_cluster(todo: Sequence[Job], scheduler: str) -> Generator[RunRecord]:
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError:
        raise NotAvailableError('a cluster needs an extra: pip install "dpcate[dask]".') from None
    with Client(scheduler, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        futures = client.map(_work, todo, pure=False)
        of = dict(zip((future.key for future in futures), todo, strict=True))
        waiting = as_completed(futures, loop=client.loop)  # type: ignore[no-untyped-call]
        del futures  # a result is let go once it is recorded
        for future in waiting:
            try:
                record = future.result()
            except KilledWorker as error:  # the run took its workers down, again and again
                record = failed_run(of[future.key][0], of[future.key][1], type(error).__name__)
            yield record
