"""A prior that leans along the propensity: what goes with it is hardly shrunk, and the stated error knows."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpcate.models.additive.basis import make_basis
from dpcate.models.additive.confidence import LOOSE, find_confidence
from dpcate.models.additive.dependence import draw_codes
from dpcate.models.additive.evidence import Evidence
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.leaning import propensity_leaning
from dpcate.models.additive.posterior import Prior, solve
from dpcate.models.additive.scales import scale_doubt
from dpcate.schema import Category, Number
from dpcate.tables import GRID

EVEN = np.append(0.0, np.full(GRID, 1 / GRID))
COLUMNS = [Number("a", 0, 1), Number("b", 0, 1), Category("t", [0, 1])]
BASIS = make_basis(COLUMNS, [EVEN, EVEN, np.array([0.0, 0.5, 0.5])], None, n_features=2)
CODES = draw_codes(BASIS.columns, None, 1024)
SCALE = 2.5


def stage(law):
    data = SimpleNamespace(n_features=2, treatment_law=law)
    return SimpleNamespace(data=data, made_up=CODES, target=SimpleNamespace(scale=SCALE))


def chance(codes, size=0.4):
    """A propensity that rises with a and bends in b."""
    a, b = (codes[:, :2].astype(float) / GRID).T
    return 0.3 + size * a * 0.5 + size * (b - 0.5) ** 2


def test_the_leaning_is_the_propensity_at_the_outcomes_own_size():
    leaning = propensity_leaning(stage(chance), BASIS)
    values, wanted = BASIS.matrix(CODES) @ leaning, chance(CODES)
    assert np.corrcoef(values, wanted)[0, 1] > 0.99
    assert values.std() == pytest.approx(SCALE, rel=0.02)
    treatment = BASIS.groups == 3
    assert leaning[0] == 0.0
    assert not leaning[treatment].any(), "the treatment's own term is not part of the propensity"


def test_a_propensity_that_hardly_varies_leans_the_prior_hardly():
    flat = BASIS.matrix(CODES) @ propensity_leaning(stage(lambda codes: chance(codes, size=0.004)), BASIS)
    assert 0.0 < flat.std() < 0.05 * SCALE


def test_without_a_law_of_the_treatment_there_is_no_leaning():
    assert propensity_leaning(stage(None), BASIS) is None


N, GROUPS, SIZES = 6, np.array([0, 1, 1, 2, 2, 2]), np.array([1.0, 0.5, 0.2, 0.5, 0.2, 0.1])
LEANING = np.array([0.0, 1.0, 0.5, -0.8, 0.0, 0.3])


def equations(seed, theta, noise=40.0):
    generator = np.random.default_rng(seed)
    root = np.eye(N) + generator.normal(size=(N, N)) / 6
    G = 300.0 * root @ root.T
    z = G @ theta + np.linalg.cholesky(noise**2 * np.eye(N) + G) @ generator.normal(size=N)
    return z, noise**2 * np.eye(N), Gram(G, np.zeros((N, N)))


def test_the_law_of_the_equations_is_that_of_the_whole_prior():
    prior = Prior(SIZES, GROUPS, LEANING)
    z, noise, gram = equations(0, np.zeros(N))
    at = np.array([-1.0, -2.0])
    variances, inverse, log_determinant = Evidence(z, noise, gram, 1.0, prior).law(at)
    whole = np.diag(variances) + np.outer(LEANING, LEANING)
    law = gram.matrix @ whole @ gram.matrix + noise + gram.matrix
    assert inverse @ law == pytest.approx(np.eye(N), abs=1e-8)
    assert log_determinant == pytest.approx(np.linalg.slogdet(law)[1])
    assert prior.times(variances, gram.matrix) == pytest.approx(whole @ gram.matrix)


def test_what_goes_with_the_propensity_is_hardly_shrunk_and_the_rest_as_before():
    theta = 0.1 * LEANING
    kept = {}
    for leaning in (None, LEANING):
        means = [
            solve(*equations(seed, theta), sampling=1.0, prior=Prior(SIZES, GROUPS, leaning)).mean for seed in range(60)
        ]
        kept[leaning is None] = float(np.mean(means, axis=0) @ LEANING / (theta @ LEANING))
    assert kept[False] > 0.93
    assert kept[True] < 0.8


def test_what_goes_with_the_propensity_does_not_make_its_columns_look_as_if_they_did_not_matter():
    """A column whose line goes with the propensity has a bend too: its scale is that of both, so the bend is kept."""
    G = 300.0 * np.eye(N)
    line, bend = 1, 2
    leaning = np.zeros(N)
    leaning[line] = 1.0
    theta = np.zeros(N)
    theta[[line, bend]] = 1.2, 0.4
    kept = []
    for seed in range(40):
        z = G @ theta + 60.0 * np.random.default_rng(seed).normal(size=N)
        gram = Gram(G, np.zeros((N, N)))
        priors = {name: Prior(SIZES, GROUPS, each) for name, each in (("plain", None), ("leaning", leaning))}
        found = {name: solve(z, 60.0**2 * np.eye(N), gram, sampling=1.0, prior=prior) for name, prior in priors.items()}
        assert found["leaning"].log_scales == pytest.approx(found["plain"].log_scales, abs=1e-6)
        expected = [found[name].doubt(alike=True).expected for name in ("leaning", "plain")]
        assert expected[0] == pytest.approx(expected[1], rel=1e-6)
        moved = scale_doubt(found["leaning"].evidence, found["leaning"].log_scales, alike=True)
        assert found["leaning"].doubt(alike=True).covariance == pytest.approx(moved.covariance)
        kept.append(found["leaning"].mean[bend] / theta[bend])
    assert np.mean(kept) > 0.75


@pytest.mark.parametrize("size", [0.0, 0.1, 0.5])
def test_the_stated_error_of_the_released_outcome_holds_along_the_leaning(size):
    theta, prior, scores = size * LEANING, Prior(SIZES, GROUPS, LEANING), []
    for seed in range(200):
        posterior = solve(*equations(seed, theta), sampling=1.0, prior=prior)
        found = find_confidence(posterior, 2, LOOSE["mean"])
        error = (posterior.mean + found.shift - theta) @ LEANING
        scores.append(error / np.sqrt(LEANING @ found.covariance @ LEANING))
    assert np.mean(np.abs(scores) < 1.96) > 0.9
    assert np.sqrt(np.mean(np.square(scores))) < 1.15
