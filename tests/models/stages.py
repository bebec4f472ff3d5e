"""Stages for tests: another version of a stage whose rows are in memory."""

from dataclasses import fields

from dpcate.models import StageData


def altered(data, **changes):
    """The same stage with other arrays or other public facts."""
    public = {
        field.name: getattr(data, field.name) for field in fields(data) if field.name not in ("source", "weighted")
    }
    rows = {name: getattr(data.held, name) for name in ("codes", "target", "loading")}
    return StageData.of_arrays(**{**public, **rows, **changes})
