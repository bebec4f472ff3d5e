"""Which of two trade-off functions is the more private, and whether a run stayed inside its budget.

"Proved" comparisons are decided at finitely many points that suffice by convexity; only they may drop a member from a
composition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcate.accounting.elementary import Laplace
from dpcate.accounting.gaussian import Gaussian
from dpcate.accounting.grid import reach
from dpcate.accounting.parameters import check_nonnegative, check_probability

if TYPE_CHECKING:
    from dpcate.accounting.tradeoff import TradeOffFunction

__all__ = ["covers", "is_at_least_as_private", "is_proved_at_least_as_private"]


def covers(spent: TradeOffFunction, target_epsilon: float, target_delta: float) -> bool:
    """Tell whether ``spent`` is (``target_epsilon``, ``target_delta``)-differentially private.

    Examples
    --------
    >>> covers(Gaussian(0.1), 1.0, 1e-5), covers(Gaussian(1.0), 1.0, 1e-5)
    (True, False)
    """
    epsilon = check_nonnegative("target_epsilon", target_epsilon)
    return spent.delta(epsilon) <= check_probability("target_delta", target_delta)


def is_at_least_as_private(f: TradeOffFunction, g: TradeOffFunction) -> bool:
    """Tell whether ``f`` is nowhere below ``g``: exactly where that can be proved, else on a dense grid of epsilons."""
    if f == g or is_proved_at_least_as_private(f, g):
        return True
    furthest = max(reach(f), reach(g), 1e-6)
    grid = np.linspace(-furthest, furthest, 8001)
    if f.infinite_loss > g.infinite_loss:
        return False
    return bool((f.delta(grid) <= g.delta(grid) * (1.0 + 1e-9)).all())


def is_proved_at_least_as_private(f: TradeOffFunction, g: TradeOffFunction) -> bool:
    """Tell whether finitely many comparisons prove that ``f`` is nowhere below ``g``; False means "not proved"."""
    if f.infinite_loss > g.infinite_loss:
        return False
    if isinstance(f, Gaussian) and isinstance(g, Gaussian):
        return f.mu <= g.mu
    if isinstance(f, Laplace) and isinstance(g, Laplace):
        return f.level <= g.level
    return _proved_at_kinks(f, g) or _proved_at_corners(f, g)


def _proved_at_kinks(f: TradeOffFunction, g: TradeOffFunction) -> bool:
    """Delta of ``g`` is linear in e^epsilon between its losses, that of ``f`` is convex: the losses suffice."""
    atoms = g.losses()
    if atoms is None:
        return False
    points = np.append(atoms.losses, g.largest_loss)  # a numeric law may end a little beyond the largest loss
    return bool((f.delta(points) <= g.delta(points)).all())


def _proved_at_corners(f: TradeOffFunction, g: TradeOffFunction) -> bool:
    """``f`` is linear between its corners, ``g`` is convex: the corners suffice."""
    atoms = f.losses()
    if atoms is None:
        return False
    alphas = np.minimum(np.cumsum(atoms.null_masses[::-1]), 1.0)
    inner = alphas[alphas < 1.0]
    return bool((f(inner) >= g(inner) + 1e-12).all())
