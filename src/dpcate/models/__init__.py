"""Base learners, and the released functions that they give."""

from dpcate.models.ebm import Ebm
from dpcate.models.function import AdditiveFunction
from dpcate.models.interpret_adapter import Interpret
from dpcate.models.protocol import BaseLearner, Budget, StageData, TargetKind
from dpcate.models.registry import make_base_learner
from dpcate.models.shape import Shape

__all__ = [
    "AdditiveFunction",
    "BaseLearner",
    "Budget",
    "Ebm",
    "Interpret",
    "Shape",
    "StageData",
    "TargetKind",
    "make_base_learner",
]
