"""Base learners by name."""

from __future__ import annotations

from dpcate.errors import ParameterError
from dpcate.models.additive import Additive
from dpcate.models.ebm import Ebm
from dpcate.models.interpret_adapter import Interpret
from dpcate.models.protocol import BaseLearner

__all__ = ["make_base_learner"]

_BY_NAME: dict[str, type[BaseLearner]] = {"additive": Additive, "ebm": Ebm, "interpret": Interpret}


def make_base_learner(model: object) -> BaseLearner:
    """Return a base learner: by name, or the caller's own.

    Examples
    --------
    >>> make_base_learner("ebm").rounds
    30
    """
    if isinstance(model, str) and model in _BY_NAME:
        return _BY_NAME[model]()
    if not isinstance(model, str | type) and isinstance(model, BaseLearner):
        return model
    raise ParameterError(
        f"`model` must be one of {sorted(_BY_NAME)} or an object that follows dpcate.models.BaseLearner; got {model!r}."
    )
