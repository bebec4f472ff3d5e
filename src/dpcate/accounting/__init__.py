"""Privacy accounting: trade-off functions, their compositions, and guarantees.

This package never sees data. It is pure mathematics over immutable values, derived in ``docs/privacy/accounting.md``;
where arithmetic is numeric, it rounds to the safe side.
"""

from __future__ import annotations

from dpcate.accounting.calibration import mu_for
from dpcate.accounting.comparison import covers, is_at_least_as_private
from dpcate.accounting.elementary import EpsilonDelta, Identity, Laplace
from dpcate.accounting.gaussian import Gaussian
from dpcate.accounting.group import Group, group
from dpcate.accounting.guarantee import (
    Guarantee,
    Neighbours,
    check_neighbours,
    compose_guarantees,
    mixture_guarantees,
    parallel_guarantees,
)
from dpcate.accounting.mixture import Mixture, mixture
from dpcate.accounting.parallel import Parallel, parallel
from dpcate.accounting.piecewise import PiecewiseLinear
from dpcate.accounting.sequential import Sequential, sequential
from dpcate.accounting.tradeoff import TradeOffFunction

__all__ = [
    "EpsilonDelta",
    "Gaussian",
    "Group",
    "Guarantee",
    "Identity",
    "Laplace",
    "Mixture",
    "Neighbours",
    "Parallel",
    "PiecewiseLinear",
    "Sequential",
    "TradeOffFunction",
    "check_neighbours",
    "compose_guarantees",
    "covers",
    "group",
    "is_at_least_as_private",
    "mixture",
    "mixture_guarantees",
    "mu_for",
    "parallel",
    "parallel_guarantees",
    "sequential",
]
