"""The tuning study changes constants by name: each must be where the study looks for it."""

import importlib

import pytest

from benchmarks import average_tuning, tuning

STUDIES = (*tuning.VARIANTS.values(), *average_tuning.VARIANTS.values())
CONSTANTS = {constant for variant in STUDIES for constant in variant.constants}


@pytest.mark.parametrize(("module", "name"), sorted(CONSTANTS))
def test_the_constants_of_a_variant_exist(module, name):
    assert hasattr(importlib.import_module(f"dpcate.models.additive.{module}"), name)
