"""Our private explainable boosting machine: the paper's base learner with a proof."""

from dpcate.models.ebm.learner import Ebm

__all__ = ["Ebm"]
