"""Base learners, and the released functions that they give."""

from dpcate.models.additive import Additive
from dpcate.models.ebm import Ebm
from dpcate.models.function import AdditiveFunction, Product
from dpcate.models.interpret_adapter import Interpret
from dpcate.models.protocol import BaseLearner, Budget, LoadingLaw, RowLaw, StageData, TargetKind
from dpcate.models.registry import make_base_learner
from dpcate.models.shape import Shape

__all__ = [
    "Additive",
    "AdditiveFunction",
    "BaseLearner",
    "Budget",
    "Ebm",
    "Interpret",
    "LoadingLaw",
    "Product",
    "RowLaw",
    "Shape",
    "StageData",
    "TargetKind",
    "make_base_learner",
]
