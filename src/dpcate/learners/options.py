"""Checks of a learner's options: all of them run before the table is touched."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcate.errors import ParameterError, SchemaError
from dpcate.schema import Schema
from dpcate.splitting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.learners.stage import Stage

__all__ = ["check_budget", "check_floor", "check_misread", "check_schema", "make_plan"]


def check_schema(schema: object) -> Schema:
    """Return the schema if it is one with two arms."""
    if not isinstance(schema, Schema):
        raise SchemaError(f"`schema` must be a dpcate.Schema; got {type(schema).__name__}.")
    if len(schema.treatment.levels) != 2:
        raise SchemaError(
            f"treatment {schema.treatment.name!r} must list exactly two arms, control first; "
            f"got {len(schema.treatment.levels)}. Rows of other arms are left out."
        )
    if not 1e-25 < schema.outcome.high - schema.outcome.low < 1e25 or abs(schema.outcome.low) > 1e25:
        raise SchemaError(f"outcome {schema.outcome.name!r} must have bounds of ordinary size; change its unit.")
    return schema


def check_budget(epsilon: object, delta: object) -> tuple[float, float]:
    """Return epsilon and delta as floats if they are in range."""
    if not _is_number(epsilon) or not 0 < float(epsilon) < math.inf:  # type: ignore[arg-type]
        raise ParameterError(f"`epsilon` must be a positive finite number; got {epsilon!r}.")
    if not _is_number(delta) or not 0 < float(delta) < 1:  # type: ignore[arg-type]
        raise ParameterError(f"`delta` must lie in (0, 1); got {delta!r}.")
    return float(epsilon), float(delta)  # type: ignore[arg-type]


def check_floor(floor: object) -> float:
    """Return the propensity floor if it is in range."""
    if not _is_number(floor) or not 0 < float(floor) < 0.5:  # type: ignore[arg-type]
        raise ParameterError(f"`propensity_floor` must lie in (0, 0.5); got {floor!r}.")
    return float(floor)  # type: ignore[arg-type]


def check_misread(misread: object) -> float:
    """Return by how much a stage may misread shifts if it is in range."""
    if not _is_number(misread) or not 0 <= float(misread) < math.inf:  # type: ignore[arg-type]
        raise ParameterError(f"`misread` must be None or a finite number of at least 0; got {misread!r}.")
    return float(misread)  # type: ignore[arg-type]


def make_plan(plan: str | Plan, stages: Sequence[Stage]) -> Plan:
    """Return the plan for these stages: by name, or the caller's own if it names the same stages in order."""
    names = [stage.name for stage in stages]
    if isinstance(plan, Plan):
        if [name for name, _ in plan.reads] != names:
            raise ParameterError(f"`plan` must have the stages {names} in this order.")
        return plan
    if plan == "split":
        return Plan.split(names, shares=[stage.share for stage in stages])
    if plan == "shared":
        return Plan.shared(names, weights=[stage.weight for stage in stages])
    raise ParameterError(f'`plan` must be "split", "shared" or a Plan; got {plan!r}.')


def _is_number(value: object) -> bool:
    try:
        return not isinstance(value, str | bool) and not math.isnan(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
