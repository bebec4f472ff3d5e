"""The average effect is that of the population, which the released shares of the features know only so well."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.fft import dct

from dpcate import AverageEffect, Category, DRLearner, Number, RLearner, Schema, SLearner
from dpcate.accounting import mu_for
from dpcate.learners.people import variance_of_people
from dpcate.mechanisms import make_noise
from dpcate.models import Additive, Budget, StageData
from dpcate.models.additive.density import smooth_shares, smoothing_errors
from dpcate.models.additive.share_errors import SHARES, variance_by_shares

AGE, TOWN = Number("age", -4, 4), Category("town", ["a", "b", "c"])
SCHEMA = Schema(Number("y", -4, 6), Category("t", [0, 1]), [AGE, TOWN])


def rows_of(n_rows, seed):
    generator = np.random.default_rng(seed)
    age, town = generator.normal(1.0, 1.0, n_rows), generator.choice(["a", "b", "c"], n_rows, p=[0.5, 0.3, 0.2])
    treated = generator.integers(2, size=n_rows)
    outcome = treated * (age + (town == "a")) + 0.3 * generator.normal(size=n_rows)
    return {"y": outcome, "t": treated, "age": age, "town": town}


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("kind", [RLearner, DRLearner])
def test_an_average_over_released_shares_is_as_far_from_the_population_s_as_stated(kind, epsilon):
    """The effect is known exactly here, so that all that is wrong is who is averaged over."""
    found, stated = [], []
    for seed in range(60):
        fitted = kind(SCHEMA, epsilon=epsilon, random_state=seed).fit_table(rows_of(1_500, seed))
        effect = fitted.models_["effect"]
        age, town = np.append(0.0, (np.arange(1024) + 0.5) / 128 - 4.0), np.array([0.0, 1.0, 0.0, 0.0])
        tables = [table - share @ table for table, share in zip((age, town), effect.shares, strict=True)]
        average = sum(float(share @ table) for table, share in zip((age, town), effect.shares, strict=True))
        fitted.models_ = {**fitted.models_, "effect": replace(effect, tables=tuple(tables), products=())}
        found.append(average - 1.5)
        stated.append(variance_of_people(fitted.models_))
    ratio = np.mean(np.square(found)) / np.mean(stated)
    assert 0.6 < ratio < 1.6, "60 runs tell it to 18 % either way"


def test_smoothing_errors_are_what_smoothing_leaves_wrong():
    """Coefficients that are seen have the noise; those that are not are mostly nothing, and so is what they lose."""
    cells = np.arange(32)
    true = 4_000 * np.exp(-0.5 * ((cells - 10) / 5.0) ** 2)
    generator, scale = np.random.default_rng(0), 40.0
    slope = (cells - cells.mean()) / cells.std()
    errors, stated = [], []
    for _ in range(400):
        noisy = true + scale * generator.normal(size=32)
        shares = smooth_shares(noisy, scale, spread=0.0)
        errors.append((shares - true / true.sum()) @ slope)
        stated.append(smoothing_errors(noisy, scale) @ dct(slope - true @ slope / true.sum(), norm="ortho") ** 2)
    ratio = np.mean(np.square(errors)) / (np.mean(stated) / true.sum() ** 2)
    assert 0.7 < ratio < 1.4


def test_more_rows_and_more_budget_leave_less_doubt_about_people():
    def doubt(n_rows, epsilon):
        fits = [RLearner(SCHEMA, epsilon=epsilon, random_state=k).fit_table(rows_of(n_rows, k)) for k in range(5)]
        return np.mean([variance_of_people(fit.models_) for fit in fits])

    assert doubt(1_000, 2.0) > 2.0 * doubt(8_000, 2.0) > 0.0
    assert doubt(4_000, 1.0) > 1.2 * doubt(4_000, 16.0)


@pytest.mark.parametrize("kind", [AverageEffect, SLearner])
def test_an_effect_that_is_the_same_for_everybody_has_no_doubt_about_people(kind):
    fitted = kind(SCHEMA, random_state=0).fit_table(rows_of(1_000, 0))
    assert variance_of_people(fitted.models_) == 0.0


def test_a_release_from_before_shares_had_errors_says_what_it_said():
    fitted = RLearner(SCHEMA, random_state=0).fit_table(rows_of(2_000, 0))
    now = fitted.ate_inference().stderr_mean
    first = fitted.models_["propensity"]
    fitted.models_["propensity"] = replace(first, details={k: v for k, v in first.details.items() if k != SHARES})
    before = fitted.ate_inference().stderr_mean
    assert before < now
    assert before**2 == pytest.approx(fitted._uncertainty().average_variance)


def test_errors_are_told_by_the_stage_that_released_the_shares_and_by_no_other():
    fitted = RLearner(SCHEMA, random_state=0).fit_table(rows_of(2_000, 0))
    telling = [name for name, model in fitted.models_.items() if SHARES in model.details]
    assert telling == ["propensity"]
    told = fitted.models_["propensity"].details[SHARES]
    assert told["rows"] == 2_000
    assert {name: len(errors) for name, errors in told["errors"].items()} == {"age": 32, "town": 4}


def test_under_add_remove_the_rows_that_are_told_are_a_noisy_count():
    fitted = RLearner(SCHEMA, neighbours="add_remove", random_state=0).fit_table(rows_of(2_000, 0))
    told = fitted.models_["propensity"].details[SHARES]["rows"]
    assert told != 2_000
    assert told == pytest.approx(2_000, rel=0.3)


def test_a_function_of_one_column_moves_with_that_column_s_errors_alone():
    budget = Budget(mu=mu_for(4.0, 1e-5), epsilon=4.0, delta=1e-5, neighbours="replace")
    codes = np.random.default_rng(0).integers(1, 4, size=(3_000, 1)).astype(np.uint16)
    data = StageData.of_arrays(
        codes=codes, target=(codes[:, 0] == 1) * 1.0, columns=(TOWN,), low=-1.0, high=2.0, n_rows=3_000, n_features=1
    )
    model = Additive().fit(data, budget=budget, noise=make_noise(0), released={})
    (noise, *others) = model.details[SHARES]["errors"]["town"]
    assert others == [noise] * 3
    centred = model.tables[0][1:] - model.shares[0][1:] @ model.tables[0][1:] / model.shares[0][1:].sum()
    assert variance_by_shares(model, {"y": model}, 0.3) == pytest.approx(noise * centred @ centred + 0.3 / 3_000)
