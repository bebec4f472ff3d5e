"""The released models of a run, by name: the only channel from one stage to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcate.models import AdditiveFunction
    from dpcate.schema import Schema
    from dpcate.tables import Rows

__all__ = ["Released"]


class _NotReleasedError(ParameterError, KeyError):
    """A name that no stage has released: a wrong parameter, and a missing key, so that `get` has an answer."""

    __str__ = Exception.__str__  # a key error's would put the message in quotes


class Released(Mapping[str, "AdditiveFunction"]):
    """Models released so far, in order.

    Parameters
    ----------
    schema
        What the models' inputs are encoded by.
    models
        Released functions by stage name.
    """

    def __init__(self, schema: Schema, models: Mapping[str, AdditiveFunction] | None = None) -> None:
        self.schema = schema
        self._models = dict(models or {})

    def __getitem__(self, name: str) -> AdditiveFunction:
        if name not in self._models:
            raise _NotReleasedError(f"no stage {name!r} has been released; there are {sorted(self._models)}.")
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __repr__(self) -> str:
        return f"Released({', '.join(self._models)})"

    def with_model(self, name: str, model: AdditiveFunction) -> Released:
        """Return these models and one more."""
        return Released(self.schema, {**self._models, name: model})

    def predict(self, name: str, rows: Rows, *, arm: int | None = None) -> NDArray[np.float64]:
        """Return a released model's prediction for each row.

        Parameters
        ----------
        name
            The stage.
        rows
            Encoded rows.
        arm
            Predict as if everybody were in this arm (0 control, 1 treated); None takes each row's own arm.
        """
        model = self[name]
        with_treatment = len(model.columns) > len(self.schema.features)
        moved = rows if arm is None else rows.with_arm(arm)
        return model.predict(moved.inputs(with_treatment=with_treatment))
