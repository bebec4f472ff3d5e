"""Base learners, and the released functions that they give."""

from dpcate.models.additive import Additive
from dpcate.models.additive.share_errors import variance_by_shares
from dpcate.models.additive.uncertainty import POSTERIOR, Uncertainty, constant_document, uncertainty_of
from dpcate.models.ebm import Ebm
from dpcate.models.function import AdditiveFunction, Product
from dpcate.models.interpret_adapter import Interpret
from dpcate.models.protocol import (
    BaseLearner,
    Budget,
    Interactions,
    LoadingLaw,
    RowLaw,
    ScoreLaw,
    StageData,
    TargetKind,
    WeightLaw,
)
from dpcate.models.registry import make_base_learner
from dpcate.models.shape import Shape
from dpcate.models.slice_sums import SLICES, SliceSums
from dpcate.models.slices import Slices, make_slices
from dpcate.models.stage_rows import HeldStage, StageRows, StageSource, StageWork

__all__ = [
    "POSTERIOR",
    "SLICES",
    "Additive",
    "AdditiveFunction",
    "BaseLearner",
    "Budget",
    "Ebm",
    "HeldStage",
    "Interactions",
    "Interpret",
    "LoadingLaw",
    "Product",
    "RowLaw",
    "ScoreLaw",
    "Shape",
    "SliceSums",
    "Slices",
    "StageData",
    "StageRows",
    "StageSource",
    "StageWork",
    "TargetKind",
    "Uncertainty",
    "WeightLaw",
    "constant_document",
    "make_base_learner",
    "make_slices",
    "uncertainty_of",
    "variance_by_shares",
]
