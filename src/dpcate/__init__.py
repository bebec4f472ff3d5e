"""Who benefits from a treatment, and by how much, with differential privacy.

The public surface: describe the table with a :class:`Schema`, choose a learner, fit, and publish what comes out.
"""

from dpcate.accounting import Guarantee
from dpcate.learners import AverageEffect, CateLearner, DRLearner, MultiStage, RLearner, SLearner, Stage, load
from dpcate.schema import Category, Number, Schema
from dpcate.splitting import Plan

__all__ = [
    "AverageEffect",
    "CateLearner",
    "Category",
    "DRLearner",
    "Guarantee",
    "MultiStage",
    "Number",
    "Plan",
    "RLearner",
    "SLearner",
    "Schema",
    "Stage",
    "load",
]
