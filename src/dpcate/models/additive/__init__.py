"""Additive regression on noisy moments: the default base learner."""

from dpcate.models.additive.learner import Additive

__all__ = ["Additive"]
