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

_N_ROWS = 24


def rehearse(stages: Sequence[Stage], schema: Schema) -> None:
    """Run every stage's transformation on made-up rows, or raise :class:`TransformationError`."""
    generator = public_generator()
    rows = _made_up_rows(schema, generator)
    released = Released(schema)
    for stage in stages:
        data = stage.data(rows, schema, released, n_rows=None)
        together = _columns(data.target, data.loading)
        _check_order(stage, rows, schema, released, together)
        released = released.with_model(stage.name, _stand_in(stage, schema, data.low, data.high, generator))


def _check_order(stage: Stage, rows: Rows, schema: Schema, released: Released, together: NDArray[np.float64]) -> None:
    """Compare each row's value in company with its value in other companies and alone."""
    subsets = [np.arange(_N_ROWS)[::-1], np.arange(0, _N_ROWS, 2), *np.arange(_N_ROWS)[:, None]]
    for index in subsets:
        data = stage.data(rows.take(index), schema, released, n_rows=None)
        if not np.array_equal(_columns(data.target, data.loading), together[index]):
            raise TransformationError(
                f"the transformation of stage {stage.name!r} must treat each row by itself; its value for a row "
                "changed with the other rows present: one person could change many rows and void the guarantee."
            )


def _columns(target: NDArray[np.float64], loading: NDArray[np.float64] | None) -> NDArray[np.float64]:
    return np.column_stack([target, np.ones(len(target)) if loading is None else loading])


def _made_up_rows(schema: Schema, generator: np.random.Generator) -> Rows:
    codes = np.column_stack([generator.integers(n_codes(column), size=_N_ROWS) for column in schema.features])
    return Rows(
        codes=np.asfortranarray(codes, dtype=np.uint16),
        Y=generator.uniform(schema.outcome.low, schema.outcome.high, _N_ROWS),
        T=generator.integers(2, size=_N_ROWS).astype(np.int8),
        active=np.ones(_N_ROWS, dtype=bool),
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
