"""Algorithm 1 and its instances: each learner is a short list of stages."""

from dpcate.learners.average import AverageEffect
from dpcate.learners.cate import CateLearner
from dpcate.learners.dr import DRLearner
from dpcate.learners.loading import load
from dpcate.learners.multistage import MultiStage
from dpcate.learners.r import RLearner
from dpcate.learners.released import Released
from dpcate.learners.s import SLearner
from dpcate.learners.stage import Stage

__all__ = [
    "AverageEffect",
    "CateLearner",
    "DRLearner",
    "MultiStage",
    "RLearner",
    "Released",
    "SLearner",
    "Stage",
    "load",
]
