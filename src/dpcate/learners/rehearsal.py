"""A dress rehearsal on made-up rows: every transformation is tried before any noise is drawn.

Rows come from the schema alone and earlier models are random stand-ins, so the outcome of a rehearsal says nothing
about the table. It catches transformations that fail, return the wrong shape, or look at more than one row at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting import Guarantee, Identity
from dpcate.errors import TransformationError
from dpcate.kernels.quiet import no_warnings
from dpcate.learners.released import Released
from dpcate.models import AdditiveFunction
from dpcate.splitting import public_generator
from dpcate.tables import Rows, n_codes

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from dpcate.learners.stage import Stage
    from dpcate.schema import Schema

__all__ = ["rehearse"]

_N_RANDOM = 4
_N_COMPANY = 1000
_N_MANY, _STARTS = 2048, 4
_MOST_KEPT = 256
_LENGTHS = (*range(2, 34), 100, 1000, 2047, 2048)


_passed: set[tuple[Hashable, Schema]] = set()


def rehearse(stages: Sequence[Stage], schema: Schema, *, shipped: Hashable | None = None) -> None:
    """Run every stage's transformation on made-up rows, or raise :class:`TransformationError`.

    Parameters
    ----------
    stages, schema
        What is about to run.
    shipped
        For stages that this library wrote: what tells them from its other ones. What passed once for a schema is not
        rehearsed again.
    """
    if shipped is not None and (shipped, schema) in _passed:
        return
    with no_warnings():  # made-up rows may be odd
        _rehearse(stages, schema)
    if shipped is not None and len(_passed) < _MOST_KEPT:
        _passed.add((shipped, schema))


def _rehearse(stages: Sequence[Stage], schema: Schema) -> None:
    generator = public_generator()
    rows = _made_up_rows(schema, generator)
    places = np.arange(len(rows))
    singles = [rows[i : i + 1] for i in places]
    orders = (places, places[::-1], generator.integers(len(rows), size=_N_COMPANY))
    together = [(index, rows.take(index)) for index in orders]
    nobody = rows.take(places[:0])
    released = Released(schema)
    many = None if all(stage.concurrent for stage in stages) else _random_rows(schema, generator, _N_MANY)
    for number, stage in enumerate(stages, start=1):
        stage.check(rows, schema, released)
        stage.check(nobody, schema, released)
        alone = np.concatenate([_values(stage, single, schema, released) for single in singles])
        for index, company in together:
            if not np.array_equal(_values(stage, company, schema, released), alone[index]):
                raise _not_by_itself(stage)
        if many is not None and not stage.concurrent:
            _compare_places(stage, many, schema, released)
        if number < len(stages):  # nobody asks for the last one's model
            low, high = stage.bounds(schema, released)
            released = released.with_model(stage.name, _stand_in(stage, schema, float(low), float(high), generator))


def _compare_places(stage: Stage, rows: Rows, schema: Schema, released: Released) -> None:
    """Compare many different rows alone and in company of every length: rounding may depend on a row's place.

    Vectorised sums and matrix products treat the last few rows of a batch apart; a dozen rows would seldom show it.
    """
    alone = np.concatenate([_values(stage, rows[i : i + 1], schema, released) for i in range(len(rows))])
    for length in _LENGTHS:
        for start in range(0, len(rows) - length + 1, max(length, len(rows) // _STARTS)):
            part = slice(start, start + length)
            if not np.array_equal(_values(stage, rows[part], schema, released), alone[part]):
                raise _not_by_itself(stage)


def _not_by_itself(stage: Stage) -> TransformationError:
    return TransformationError(
        f"the transformation of stage {stage.name!r} must treat each row by itself, to the last bit; its value for a "
        "row changed with the other rows present: one person could change many rows and void the guarantee. Sums over "
        "columns and matrix products round differently from place to place: add columns one by one instead."
    )


def _values(stage: Stage, rows: Rows, schema: Schema, released: Released) -> NDArray[np.float64]:
    """Return target, loading, the loading's reach and the slice of each row: what its contribution is made of."""
    data = stage.data(rows, schema, released, n_rows=None)
    held = data.held
    loading = np.ones(len(rows)) if held.loading is None else held.loading
    slices = np.zeros(len(rows)) if data.slices is None else data.slices.of(held.codes)
    return np.column_stack([held.target, loading, data.reach(held.codes), slices])


def _made_up_rows(schema: Schema, generator: np.random.Generator) -> Rows:
    """Return rows at every corner that a transformation may treat apart: missing values, bounds, zero, both arms."""
    outcome = schema.outcome
    sizes = np.array([n_codes(column) for column in schema.features])
    corners = [np.zeros_like(sizes), np.ones_like(sizes), sizes - 1, sizes // 2]
    corners += [np.where(np.arange(len(sizes)) % 2 == odd, 0, sizes - 1) for odd in (0, 1)]
    corners += [generator.integers(sizes) for _ in range(_N_RANDOM)]
    inside = (outcome.low + outcome.high) / 2, outcome.low * 0.3 + outcome.high * 0.7
    levels = np.clip([outcome.low, outcome.high, 0.0, 1.0, *inside], outcome.low, outcome.high)
    n_rows = max(len(corners), 2 * len(levels))
    return Rows(
        codes=np.asfortranarray(np.resize(corners, (n_rows, len(sizes))), dtype=np.uint16),
        Y=np.resize(levels, n_rows),
        T=(np.arange(n_rows) // len(levels) % 2).astype(np.int8),
        active=np.ones(n_rows, dtype=bool),
    )


def _random_rows(schema: Schema, generator: np.random.Generator, n_rows: int) -> Rows:
    """Return many different rows."""
    sizes = [n_codes(column) for column in schema.features]
    codes = np.column_stack([generator.integers(size, size=n_rows) for size in sizes])
    return Rows(
        codes=np.asfortranarray(codes, dtype=np.uint16),
        Y=generator.uniform(schema.outcome.low, schema.outcome.high, n_rows),
        T=generator.integers(2, size=n_rows).astype(np.int8),
        active=np.ones(n_rows, dtype=bool),
    )


@dataclass(frozen=True, kw_only=True)
class _StandIn(AdditiveFunction):
    """A made-up model whose extremes are worked out once: every stage asks for them with every row."""

    @cached_property
    def _both(self) -> tuple[float, float]:
        return AdditiveFunction.extremes(self)

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and largest value."""
        return self._both


def _stand_in(stage: Stage, schema: Schema, low: float, high: float, generator: np.random.Generator) -> _StandIn:
    """Return a random function with values inside the stage's bounds."""
    columns = stage.columns(schema)
    reach = 0.4 * (high - low) / max(len(columns), 1)
    sizes = [n_codes(column) for column in columns]
    return _StandIn(
        columns=columns,
        intercept=(low + high) / 2,
        tables=tuple(generator.uniform(-reach, reach, size) for size in sizes),
        shares=tuple(np.full(size, 1 / size) for size in sizes),
        guarantee_=Guarantee(Identity(), "replace"),
        low=low,
        high=high,
    )
