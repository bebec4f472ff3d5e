"""One made-up table in every form, and what a seeded fit of it gives."""

import numpy as np
import pyarrow as pa
import pytest

from dpcate import Category, Number, RLearner, Schema

SCHEMA = Schema(
    outcome=Number("y", -3, 3),
    treatment=Category("t", ["no", "yes"]),
    features=[Number("age", 0, 100), Number("income", -4, 4), Category("sex", ["f", "m"])],
)
N_ROWS = 150_000
"""More than two batches."""


@pytest.fixture(scope="session")
def table():
    generator = np.random.default_rng(5)
    age, income = generator.uniform(0, 100, N_ROWS), generator.normal(size=N_ROWS)
    sex = np.where(generator.uniform(size=N_ROWS) < 0.4, "f", "m")
    t = generator.uniform(size=N_ROWS) < 0.3 + 0.004 * age
    y = np.sin(income) + t * (0.5 + 0.01 * age * (sex == "f")) + generator.normal(size=N_ROWS)
    y[::1000] = np.nan
    income[::777] = np.nan
    return pa.table({"y": y, "t": np.where(t, "yes", "no"), "age": age, "income": income, "sex": sex})


def fit(source, plan="shared", neighbours="replace"):
    """Everything that a seeded fit releases."""
    learner = RLearner(SCHEMA, plan=plan, neighbours=neighbours, random_state=11).fit_table(source)
    return {
        (name, j): part.tolist()
        for name, model in learner.models_.items()
        for j, part in enumerate([np.array([model.intercept]), *model.tables, *model.shares])
    }


@pytest.fixture(scope="session")
def expected(table):
    return {
        (plan, neighbours): fit(table, plan, neighbours)
        for plan in ("shared", "split")
        for neighbours in ("replace", "add_remove")
    }
