"""The tuning study changes constants by name: each must be where the study looks for it."""

import importlib

import numpy as np
import pytest

from benchmarks import average_tuning, tuning, tuning_data

STUDIES = (*tuning.VARIANTS.values(), *average_tuning.VARIANTS.values(), *average_tuning.OWN_ROWS.values())
CONSTANTS = {constant for variant in STUDIES for constant in variant.constants}


@pytest.mark.parametrize(("module", "name"), sorted(CONSTANTS))
def test_the_constants_of_a_variant_exist(module, name):
    assert hasattr(importlib.import_module(f"dpcate.models.additive.{module}"), name)


@pytest.mark.parametrize("name", tuning_data.AVERAGE_CASES)
def test_a_mirrored_case_has_the_same_people_and_effects_and_treats_the_others(name):
    case = tuning_data.AVERAGE_CASES[name]
    one, other = (each.law(500, np.random.default_rng(3)) for each in (case, case.mirrored()))
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.effect, other.effect)
    np.testing.assert_allclose(one.propensity + other.propensity, 1.0)
    assert case.mirrored().schema() == case.schema()
