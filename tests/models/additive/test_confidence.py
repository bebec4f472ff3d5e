"""Where intervals are centred: against formulas written down plainly, and against draws of z for fixed effects."""

import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpcate.models.additive import confidence
from dpcate.models.additive.confidence import CENTRE, _towards, find_confidence
from dpcate.models.additive.evidence import LARGEST_SCALE, SCALE_MEAN, Evidence
from dpcate.models.additive.gram import Gram
from dpcate.models.additive.posterior import Posterior, Prior, solve

GROUPS, SIZES = np.array([0, 1, 1, 2, 2, 3, 3]), np.array([0.5, 1.0, 0.4, 1.0, 0.1, 0.2, 0.2])
N_COLUMNS, N_TERMS, SAMPLING = 2, 7, 1.0


def make(seed, *, signal=0.3, noise=60.0, uncertain=False, correlated=True):
    """Noisy normal equations of two columns with two functions each, and two products: z, noise, G."""
    generator = np.random.default_rng(seed)
    root = np.eye(N_TERMS) + correlated * generator.normal(size=(N_TERMS, N_TERMS)) / 5
    G = 200.0 * root @ root.T
    spread = uncertain * np.abs(generator.normal(size=(N_TERMS, N_TERMS))) * 20
    theta = signal * generator.normal(size=N_TERMS) * np.sqrt(SIZES)
    privacy = noise**2 * np.eye(N_TERMS)
    z = G @ theta + np.linalg.cholesky(privacy + SAMPLING * G) @ generator.normal(size=N_TERMS)
    return z, privacy, Gram(G, (spread + spread.T) ** 2 / 4)


def solved(problem):
    z, privacy, gram = problem
    return solve(z, privacy, gram, sampling=SAMPLING, prior=Prior(SIZES, GROUPS))


def at_scales(problem, log_scales, *, estimate=None):
    """What `solve` would have returned if it had found these scales."""
    z, privacy, gram = problem
    evidence = Evidence(z, privacy, gram, SAMPLING, Prior(SIZES, GROUPS))
    nothing = np.zeros(N_TERMS) if estimate is None else estimate
    return Posterior(nothing, np.zeros((N_TERMS, N_TERMS)), np.asarray(log_scales, dtype=float), evidence)


def members(k):
    return np.flatnonzero(k == GROUPS)


def variances(scales):
    return np.array([size * (scales[k - 1] if k else 1.0) for size, k in zip(SIZES, GROUPS, strict=True)])


def noise_of(problem, sizes):
    """Covariance of z given the coefficients: sampling, privacy, and G's errors times coefficients of these sizes."""
    z, privacy, gram = problem
    covariance = SAMPLING * gram.matrix + privacy
    for i, j in itertools.product(range(N_TERMS), repeat=2):
        size = sizes[j] if GROUPS[j] else min(SIZES[j], (z[j] / gram.matrix[j, j]) ** 2)
        covariance[i, i] += gram.variance[i, j] * size
    return covariance


def information(problem, scales, k):
    """What z says of the coefficients of group k while the others follow their prior."""
    G, others = problem[2].matrix, variances(scales)
    others[members(k)] = 0.0
    own = G[:, members(k)]
    return own.T @ np.linalg.inv((G * others) @ G + noise_of(problem, variances(scales))) @ own


def best_known(problem, scales, k):
    """How well the best known direction of group k is known, relative to its prior at a scale of one."""
    root = np.diag(np.sqrt(SIZES[members(k)]))
    return np.linalg.eigvalsh(root @ information(problem, scales, k) @ root).max()


def loose_scales(problem, scales):
    """Smallest scale at which the best known direction of a group keeps 6 of 7 parts of itself, of products 3 of 4."""
    found = []
    for k, scale in enumerate(scales, start=1):
        wanted = (CENTRE[0] if k <= N_COLUMNS else CENTRE[1]) / best_known(problem, scales, k)
        found.append(max(scale, min(wanted, np.exp(LARGEST_SCALE))))
    return np.array(found)


def believed_scales(problem, scales, expected):
    """Between the expected scales and the most likely ones: the weight of the latter is what is known at exp(-4)."""
    known = np.array([best_known(problem, scales, k) for k in range(1, len(scales) + 1)]) * np.exp(SCALE_MEAN)
    return (expected + known * scales) / (1.0 + known)


def by_hand(problem, scales, expected):
    """Centre and error: M z with M = L G (G L G + V)^-1, and M V M' + (M G - I) D (M G - I)'."""
    z, _, gram = problem
    L = np.diag(variances(loose_scales(problem, scales)))
    D = np.diag(variances(believed_scales(problem, scales, expected)))
    M = L @ gram.matrix @ np.linalg.inv(gram.matrix @ L @ gram.matrix + noise_of(problem, np.diagonal(L)))
    away = M @ gram.matrix - np.eye(N_TERMS)
    return M @ z, M @ noise_of(problem, np.diagonal(D)) @ M.T + away @ D @ away.T


@pytest.mark.parametrize("uncertain", [False, True])
@pytest.mark.parametrize(("signal", "noise"), [(0.0, 60.0), (0.3, 60.0), (1.0, 5.0), (9.0, 5.0)])
@pytest.mark.parametrize("seed", range(3))
def test_centre_and_error_are_the_formulas(seed, signal, noise, uncertain):
    problem = make(seed, signal=signal, noise=noise, uncertain=uncertain)
    posterior = solved(problem)
    found, scales = find_confidence(posterior, N_COLUMNS, CENTRE), np.exp(posterior.log_scales)
    expected = np.maximum(posterior.doubt().expected, scales)
    centre, covariance = by_hand(problem, scales, expected)
    assert posterior.mean + found.shift == pytest.approx(centre, rel=1e-7, abs=1e-10)
    assert found.covariance == pytest.approx(covariance, rel=1e-7, abs=1e-10)
    np.testing.assert_allclose(np.exp(found.log_scales), expected, rtol=1e-12)


def test_no_scale_is_expected_to_be_smaller_than_the_most_likely_one():
    posterior = solved(make(0, signal=9.0, noise=5.0))
    assert (posterior.doubt().expected < np.exp(posterior.log_scales)).any(), "the grid ends where the scale does"
    assert (find_confidence(posterior, N_COLUMNS, CENTRE).log_scales >= posterior.log_scales).all()


def test_the_same_release_has_the_same_centre_and_nothing_is_changed_by_asking():
    posterior = solved(make(4))
    parts = posterior.mean, posterior.covariance, posterior.log_scales, posterior.evidence.z
    before = [part.copy() for part in parts]
    one, other, again = (find_confidence(each, N_COLUMNS, CENTRE) for each in (solved(make(4)), posterior, posterior))
    for name in ("shift", "covariance", "log_scales"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(again, name), getattr(other, name))
    for old, new in zip(before, parts, strict=True):
        np.testing.assert_array_equal(old, new)


def kept_of(problem, log_scales):
    """M G, which takes coefficients to what the centre expects of them; the released estimate is zero here."""
    asked = [at_scales((unit, *problem[1:]), log_scales) for unit in np.eye(N_TERMS)]
    gain = np.array([find_confidence(each, N_COLUMNS, CENTRE).shift for each in asked]).T
    return gain @ problem[2].matrix


@pytest.mark.parametrize("log_scales", [[-12.0] * 3, [-5.0, -9.0, -4.0], [1.0, -12.0, 0.5], [3.0, 3.0, 3.0]])
@pytest.mark.parametrize("noise", [5.0, 60.0, 150.0])
def test_the_best_known_direction_keeps_most_of_itself(log_scales, noise):
    problem = make(5, noise=noise, correlated=False)
    kept = np.diagonal(kept_of(problem, log_scales))
    for k, looseness in ((1, CENTRE[0]), (2, CENTRE[0]), (3, CENTRE[1])):
        best = kept[members(k)].max()
        assert best >= looseness / (looseness + 1) - 1e-9
        if log_scales[k - 1] == -12.0:
            assert best == pytest.approx(looseness / (looseness + 1)), "no looser than was asked for"


def best_direction(problem, log_scales, k):
    root = np.diag(np.sqrt(SIZES[members(k)]))
    return root @ np.linalg.eigh(root @ information(problem, np.exp(log_scales), k) @ root)[1][:, -1]


@pytest.mark.parametrize(("k", "parts"), [(1, CENTRE[0]), (2, CENTRE[0]), (3, CENTRE[1])])
def test_with_dependent_columns_it_does_so_while_the_other_groups_keep_their_scales(k, parts):
    problem, log_scales = make(5), np.full(3, 3.0)  # so large that they are loose already
    log_scales[k - 1] = -12.0
    direction, own = best_direction(problem, log_scales, k), np.ix_(members(k), members(k))
    assert kept_of(problem, log_scales)[own] @ direction == pytest.approx(parts / (parts + 1) * direction)


@pytest.mark.parametrize("seed", range(6))
def test_with_dependent_columns_that_are_all_made_loose_it_keeps_less(seed):
    problem, log_scales = make(seed), np.full(3, -12.0)
    kept = kept_of(problem, log_scales)
    for k in (1, 2):
        direction = best_direction(problem, log_scales, k)
        part = direction @ kept[np.ix_(members(k), members(k))] @ direction / (direction @ direction)
        assert 0.7 < part < CENTRE[0] / (CENTRE[0] + 1)


def test_no_scale_is_larger_than_the_largest_that_is_considered():
    problem = make(6, noise=1e5, correlated=False)
    kept, G = np.diagonal(kept_of(problem, [-12.0] * 3)), problem[2].matrix[0, 0]
    prior = np.where(GROUPS == 0, SIZES, SIZES * np.exp(LARGEST_SCALE))
    assert kept == pytest.approx(prior * G**2 / (prior * G**2 + G + 1e10))
    assert kept.max() < 0.1


def test_where_the_signal_dominates_the_centre_is_the_estimate():
    posterior = solved(make(0, signal=1.0, noise=1.0))
    found = find_confidence(posterior, N_COLUMNS, CENTRE)
    assert np.abs(found.shift / np.sqrt(np.diagonal(found.covariance))).max() < 0.05
    loose = find_confidence(at_scales(make(0), [3.0] * 3, estimate=centre_at(make(0), 3.0)), N_COLUMNS, CENTRE)
    assert loose.shift == pytest.approx(np.zeros(N_TERMS), abs=1e-12)


def centre_at(problem, log_scale):
    z, _, gram = problem
    D = np.diag(variances(np.exp([log_scale] * 3)))
    return D @ gram.matrix @ np.linalg.solve(gram.matrix @ D @ gram.matrix + noise_of(problem, np.diagonal(D)), z)


def test_where_noise_hides_everything_the_centre_is_not_the_estimate():
    posterior = solved(make(1, signal=0.0))
    found = find_confidence(posterior, N_COLUMNS, CENTRE)
    assert np.abs(posterior.mean[1:]).max() < 0.02
    assert np.abs(found.shift / np.sqrt(np.diagonal(found.covariance))).max() > 0.5


N_DRAWS, N_COMBINATIONS = 1200, 20
MANY = np.repeat(np.arange(5), [1, 2, 2, 2, 2])
MANY_SIZES = np.concatenate([[25.0], np.tile([1.0, 0.8], 4)])


def coverage(times):
    """How often intervals hold a fixed theta, ``times`` as large as its noise, around the centre and the estimate."""
    generator, n_terms = np.random.default_rng(5), len(MANY)
    root = np.eye(n_terms) + generator.normal(size=(n_terms, n_terms)) / 20
    G, privacy = 400.0 * root @ root.T, 60.0**2 * np.eye(n_terms)
    V = privacy + SAMPLING * G
    theta = times * np.sqrt(np.diagonal(V)) / np.diagonal(G) * generator.choice([-1, 1], n_terms)
    factor, gram, prior = np.linalg.cholesky(V), Gram(G, np.zeros_like(G)), Prior(MANY_SIZES, MANY)
    asked = np.vstack([np.eye(n_terms), generator.normal(size=(N_COMBINATIONS, n_terms))])
    held = {"centre": np.zeros(len(asked)), "estimate": np.zeros(len(asked))}
    for _ in range(N_DRAWS):
        z = G @ theta + factor @ generator.normal(size=n_terms)
        posterior = solve(z, privacy, gram, sampling=SAMPLING, prior=prior)
        found = find_confidence(posterior, 4, CENTRE)
        for name, middle, error in (
            ("centre", posterior.mean + found.shift, found.covariance),
            ("estimate", posterior.mean, posterior.covariance),
        ):
            reach = 1.96 * np.sqrt(((asked @ error) * asked).sum(axis=1))
            held[name] += (np.abs(asked @ (middle - theta)) <= reach) / N_DRAWS
    return {name: (found[:n_terms], found[n_terms:]) for name, found in held.items()}


@pytest.fixture(scope="module")
def covered():
    with threadpool_limits(limits=1):
        return {times: coverage(times) for times in (0.0, 1.0, 30.0)}


@pytest.mark.parametrize("times", [0.0, 1.0, 30.0])
def test_intervals_hold_a_fixed_effect_as_often_as_they_say_be_it_none_or_small_or_large(covered, times):
    for found in covered[times]["centre"]:
        assert found.min() > 0.93
        assert found.max() < 0.995


def test_around_the_estimate_they_would_miss_effects_as_small_as_the_noise(covered):
    alone, combined = covered[1.0]["estimate"]
    assert alone[1:].max() < 0.8, "the intercept is not shrunk; everything else is"
    assert alone[1:].mean() < covered[1.0]["centre"][0][1:].mean() - 0.25
    assert combined.mean() < 0.9


def test_where_nothing_is_known_scales_are_as_expected_and_where_much_is_as_most_likely():
    likely, expected = np.full(4, -9.0), np.full(4, -1.0)
    found = _towards(likely, expected, np.array([0.0, np.exp(-SCALE_MEAN), 1e3, 1e9]))
    assert found[0] == expected[0]
    assert np.exp(found[1]) == pytest.approx((np.exp(-9.0) + np.exp(-1.0)) / 2), "half way where half is known"
    assert found[-1] == pytest.approx(likely[-1], abs=1e-2)
    assert (np.diff(found) < 0.0).all()


def test_most_likely_scales_state_less_error_and_still_as_much_as_there_is(monkeypatch):
    """One column matters; the other one and the products do not, as for a propensity."""
    theta, problems = np.zeros(N_TERMS), []
    theta[1] = 0.5
    for seed in range(200):
        _, privacy, gram = make(seed, noise=10.0, correlated=False)
        draw = np.random.default_rng(10_000 + seed).normal(size=N_TERMS)
        z = gram.matrix @ theta + np.linalg.cholesky(privacy + SAMPLING * gram.matrix) @ draw
        problems.append(solved((z, privacy, gram)))

    def stated():
        return [find_confidence(posterior, N_COLUMNS, (1.0, 1.0), alike=True) for posterior in problems]

    likely = stated()
    monkeypatch.setattr(confidence, "_towards", lambda likely, expected, known: expected)
    expected, believed = ([float(np.trace(one.covariance[1:, 1:])) for one in found] for found in (stated(), likely))
    real = [
        float(((posterior.mean + found.shift - theta)[1:] ** 2).sum())
        for posterior, found in zip(problems, likely, strict=True)
    ]
    assert np.mean(real) < np.mean(believed) < 0.95 * np.mean(expected)
