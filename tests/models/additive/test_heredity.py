"""Which products are expected to matter: by their columns, where the equations agree."""

import numpy as np
import pytest

from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.heredity import hereditary, likelier_prior
from dpcate.models.additive.posterior import Prior, solve
from dpcate.models.additive.products import BENT, PAIR
from dpcate.schema import Category, Number
from dpcate.tables import GRID

EVEN = np.append(0.0, np.full(GRID, 1 / GRID))
N_FEATURES = 5
BASIS = make_basis(
    [Number(name, 0, 1) for name in "abcde"],
    [EVEN] * N_FEATURES,
    np.eye(N_FEATURES),
    n_features=N_FEATURES,
    interactions="bent",
)
PRIOR = Prior(0.2 * BASIS.sizes, BASIS.groups)
FIRST = BASIS.n_terms - len(BASIS.products)
LEADING = np.flatnonzero(BASIS.orders == 0)


def bent(first, second):
    """Return where the bent products of two columns are."""
    found = [
        k for k, term in enumerate(BASIS.products) if (term.first, term.second, term.order) == (first, second, BENT)
    ]
    return FIRST + np.array(found)


def coefficients(first=0.0, second=0.0):
    """Columns a and b have a straight line each."""
    theta = np.zeros(BASIS.n_terms)
    theta[LEADING[:2]] = first, second
    return theta


def choose(theta, *, noise, seed=0, n_rows=4000.0):
    gram = Gram(n_rows * np.eye(BASIS.n_terms), np.zeros((BASIS.n_terms, BASIS.n_terms)))
    z = gram.matrix @ theta + noise * np.random.default_rng(seed).normal(size=BASIS.n_terms)

    def solved(prior):
        return solve(z, noise**2 * np.eye(len(z)), gram, sampling=1e-3, prior=prior)

    return likelier_prior(solved(PRIOR), PRIOR, BASIS, n_features=N_FEATURES, solved=solved), solved(PRIOR)


def test_products_get_variance_by_the_parts_of_their_columns_and_the_same_in_total():
    found = hereditary(PRIOR, BASIS, coefficients(0.3, 0.2), n_features=N_FEATURES)
    for order in (PAIR, BENT):
        mine = BASIS.orders == order
        assert found.sizes[mine].sum() == pytest.approx(PRIOR.sizes[mine].sum())
        assert np.argmax(found.sizes[mine]) in np.flatnonzero(np.isin(np.flatnonzero(mine), [FIRST, *bent(0, 1)]))
    assert (found.sizes[bent(0, 1)] > 8 * PRIOR.sizes[bent(0, 1)]).all()
    assert (found.sizes[bent(3, 4)] < 0.01 * PRIOR.sizes[bent(3, 4)]).all()
    own = BASIS.orders < PAIR
    assert np.array_equal(found.sizes[own], PRIOR.sizes[own])


def test_where_nothing_was_seen_all_products_stay_alike():
    found = hereditary(PRIOR, BASIS, np.zeros(BASIS.n_terms), n_features=N_FEATURES)
    assert found.sizes == pytest.approx(PRIOR.sizes)


def test_the_treatment_counts_like_the_strongest_feature():
    columns = [*(Number(name, 0, 1) for name in "ab"), Category("t", [0, 1])]
    shares = [EVEN, EVEN, np.array([0.0, 0.5, 0.5])]
    basis = make_basis(columns, shares, np.eye(3), n_features=2, interactions="treated")
    theta = np.zeros(basis.n_terms)
    theta[np.flatnonzero(basis.orders == 0)] = 0.3, 0.1, 9.0
    prior = Prior(basis.sizes, basis.groups)
    found = hereditary(prior, basis, theta, n_features=2).sizes[-3:]
    assert [(term.first, term.second) for term in basis.products] == [(0, 1), (0, 2), (1, 2)]
    assert found[1] > found[0] == pytest.approx(found[2]), "both are the weak feature with the strongest part there is"


@pytest.mark.parametrize("seed", range(4))
def test_an_interaction_of_columns_that_matter_is_seen_where_an_even_prior_shrinks_it(seed):
    theta = coefficients(0.2, 0.2)
    theta[bent(0, 1)] = 0.06
    (posterior, prior), even = choose(theta, noise=60.0, seed=seed)
    assert prior is not PRIOR
    errors = [float(np.linalg.norm((each.mean - theta)[FIRST:])) for each in (posterior, even)]
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize("seed", range(4))
def test_an_interaction_of_columns_that_do_nothing_else_is_not_given_up(seed):
    theta = coefficients(0.3, 0.0)
    theta[bent(3, 4)] = 0.08
    (posterior, prior), even = choose(theta, noise=60.0, seed=seed)
    assert prior is PRIOR
    assert np.array_equal(posterior.mean, even.mean)
