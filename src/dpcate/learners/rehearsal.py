"""A dress rehearsal on made-up rows: every transformation is tried before any noise is drawn.

Rows come from the schema alone and earlier models are random stand-ins, so the outcome of a rehearsal says nothing
about the table. It catches transformations that fail, return the wrong shape, or look at more than one row at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting import Guarantee, Identity
from dpcate.errors import TransformationError
from dpcate.learners.released import Released
from dpcate.models import AdditiveFunction
from dpcate.splitting import public_generator
from dpcate.tables import Rows, n_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dpcate.learners.stage import Stage
    from dpcate.schema import Schema

__all__ = ["rehearse"]

_N_RANDOM = 4
_N_COMPANY = 1000


def rehearse(stages: Sequence[Stage], schema: Schema) -> None:
    """Run every stage's transformation on made-up rows, or raise :class:`TransformationError`."""
    generator = public_generator()
    rows = _made_up_rows(schema, generator)
    company = generator.integers(len(rows), size=_N_COMPANY)
    released = Released(schema)
    for stage in stages:
        stage.check(rows, schema, released)
        stage.check(rows.take(np.arange(0)), schema, released)
        alone = np.concatenate([_values(stage, rows[i : i + 1], schema, released) for i in range(len(rows))])
        for index in (np.arange(len(rows)), np.arange(len(rows))[::-1], company):
            if not np.array_equal(_values(stage, rows.take(index), schema, released), alone[index]):
                raise TransformationError(
                    f"the transformation of stage {stage.name!r} must treat each row by itself; its value for a row "
                    "changed with the other rows present: one person could change many rows and void the guarantee."
                )
        low, high = stage.bounds(schema, released)
        released = released.with_model(stage.name, _stand_in(stage, schema, float(low), float(high), generator))


def _values(stage: Stage, rows: Rows, schema: Schema, released: Released) -> NDArray[np.float64]:
    """Return target, loading and the loading's reach of each row: what its contribution is made of."""
    data = stage.data(rows, schema, released, n_rows=None)
    held = data.held
    loading = np.ones(len(rows)) if held.loading is None else held.loading
    return np.column_stack([held.target, loading, data.reach(held.codes)])


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


def _stand_in(
    stage: Stage, schema: Schema, low: float, high: float, generator: np.random.Generator
) -> AdditiveFunction:
    """Return a random function with values inside the stage's bounds."""
    columns = stage.columns(schema)
    reach = 0.4 * (high - low) / len(columns)
    sizes = [n_codes(column) for column in columns]
    return AdditiveFunction(
        columns=columns,
        intercept=(low + high) / 2,
        tables=tuple(generator.uniform(-reach, reach, size) for size in sizes),
        shares=tuple(np.full(size, 1 / size) for size in sizes),
        guarantee_=Guarantee(Identity(), "replace"),
        low=low,
        high=high,
    )
