"""The counter-example of docs/privacy/plans.md: a split that looks at the treatment breaks the guarantee."""

import numpy as np

from dpcate.mechanisms import LIMIT, VectorSum
from dpcate.splitting import row_parts

RELEASE = VectorSum(bound=1.0, mu=1.0, neighbours="replace")
N_ROWS = 1000


def dealt_within_arms(T):
    rank = np.where(T == 1, np.cumsum(T == 1), np.cumsum(T == 0)) - 1
    return rank % 2


def private_coins(T):
    return row_parts(0, len(T), shares=(0.5, 0.5), key=2024)


def effective_mu(parts_of):
    """Distance between the part-0 sums of two neighbouring tables, in standard deviations of the noise."""
    Y = np.tile([1.0, 0.0], N_ROWS // 2)
    T = np.ones(N_ROWS, dtype=int)
    neighbour = T.copy()
    neighbour[0] = 0
    sums = [RELEASE.exact(Y[parts_of(arm) == 0][:, None])[0] for arm in (T, neighbour)]
    return abs(int(sums[0] - sums[1])) / LIMIT / RELEASE.noise_scale


def test_dealing_rows_within_arms_costs_hundreds_of_times_the_stated_budget():
    assert effective_mu(dealt_within_arms) > 200 * RELEASE.mu


def test_private_coins_cost_no_more_than_the_stated_budget():
    assert effective_mu(private_coins) <= RELEASE.mu
