"""What a stage says of its loading is evaluated on private rows, so it is held to the rules of a transformation."""

import numpy as np
import pytest

from dpcate import MultiStage, RLearner, Stage
from dpcate.errors import TransformationError
from dpcate.mechanisms import SeededNoise


def stage(law, spread=None):
    return Stage(
        name="effect",
        target=lambda rows, released: rows.Y,
        bounds=lambda *_: (0.0, 1.0),
        loading=lambda rows, released: rows.T - 0.5,
        loading_bound=lambda *_: 0.5,
        loading_law=law,
        residual_spread=spread,
    )


def fit(schema, columns, law, spread=None, noise=0):
    return MultiStage(schema, [stage(law, spread)], model="additive", random_state=noise).fit_table(columns)


def half(rows, released):
    return np.full(len(rows), 0.5), np.full(len(rows), 0.25)


WRONG = {
    "looks at other rows": lambda rows, released: (
        0.1 + 0.4 * rows.codes[:, 0] / rows.codes.max(),
        half(rows, None)[1],
    ),
    "raises": lambda rows, released: 1 / 0,
    "one value": lambda rows, released: half(rows, None)[0],
    "wrong length": lambda rows, released: (np.ones(3), np.ones(3)),
    "not a number": lambda rows, released: (np.full(len(rows), np.nan), half(rows, None)[1]),
    "negative": lambda rows, released: (-half(rows, None)[0], half(rows, None)[1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_law_that_breaks_the_rules_is_refused_before_any_noise(name, schema, columns):
    noise = SeededNoise(0)
    before = noise._generator.bit_generator.state
    with pytest.raises(TransformationError, match="effect"):
        fit(schema, columns, WRONG[name], noise=noise)
    assert noise._generator.bit_generator.state == before


def test_a_spread_that_is_not_positive_is_refused(schema, columns):
    with pytest.raises(TransformationError, match="residual_spread"):
        fit(schema, columns, half, spread=lambda rows, released: np.zeros(len(rows)))


def test_a_law_sees_neither_outcome_nor_arm(schema, columns):
    seen = []

    def spy(rows, released):
        seen.append((np.unique(rows.Y).tolist(), np.unique(rows.T).tolist()))
        return half(rows, released)

    fit(schema, columns, spy)
    assert {str(values) for values in seen} <= {"([0.0], [0])", "([], [])"}


def test_a_law_that_fails_on_one_private_row_does_not_stop_the_run_or_touch_the_others(schema, columns):
    """An error would tell that the row is there."""
    odd = {name: values.copy() for name, values in columns.items()}
    odd["age"][0] = 77
    code = int((77 - 18) / (105 - 18) * 1024) + 1

    def fragile(rows, released):
        if np.any(rows.codes[:, 0] == code):
            raise ValueError
        return half(rows, released)

    odd["age"][1:] = np.where(odd["age"][1:] == 77, 76, odd["age"][1:])
    first, second = fit(schema, odd, fragile), fit(schema, odd, half)
    assert first.effect(odd) == pytest.approx(second.effect(odd), abs=1e-3), "the row falls back to the bound"


def test_the_r_learner_s_own_law_passes(schema, columns):
    assert np.isfinite(RLearner(schema, model="additive", random_state=0).fit_table(columns).ate())
