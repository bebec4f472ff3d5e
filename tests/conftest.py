"""Shared tables: small, made up, with a known effect."""

import numpy as np
import pytest
from hypothesis import settings

from dpcate import Category, Number, Schema

settings.register_profile("any machine", deadline=None)  # a busy one takes seconds for what takes a millisecond
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def schema():
    return Schema(
        outcome=Number("vote", 0, 1),
        treatment=Category("called", [0, 1]),
        features=[Number("age", 18, 105), Category("sex", ["female", "male"]), Number("income", 0, 100)],
    )


@pytest.fixture(scope="session")
def columns():
    rng = np.random.default_rng(5)
    n = 600
    age = rng.integers(18, 100, n)
    sex = rng.choice(["female", "male"], n)
    called = rng.integers(0, 2, n)
    vote = (rng.uniform(size=n) < 0.4 + 0.2 * called * (age > 50)).astype(int)
    return {"vote": vote, "called": called, "age": age, "sex": sex, "income": rng.uniform(0, 100, n)}
