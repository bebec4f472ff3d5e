"""Three seeded fits whose numbers are stored beside this file: any change of the method shows here.

A change that is meant renews the numbers with ``python -m tests.golden.test_golden_fits``; the difference then stands
in the commit. The tables are made up and the seeds void the guarantee, so the stored numbers say nothing of anybody.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dpcate import Category, DRLearner, Number, RLearner, Schema, SLearner
from dpcate.models import Additive

FOLDER = Path(__file__).parent
SCHEMA = Schema(
    outcome=Number("score", -5, 10),
    treatment=Category("trained", ["no", "yes"]),
    features=[Number("age", 18, 80), Category("region", ["north", "south", "west"]), Number("years", 0, 30)],
)
N_ROWS, N_STORED = 3000, 12


def make_table(seed):
    """A made-up study: older people gain more, and one in fifty ages is missing."""
    generator = np.random.default_rng(seed)
    age, years = generator.uniform(18, 80, N_ROWS), generator.gamma(2.0, 4.0, N_ROWS)
    region = generator.choice(["north", "south", "west"], N_ROWS, p=[0.5, 0.3, 0.2])
    trained = generator.uniform(size=N_ROWS) < 0.3 + 0.3 * (age > 45)
    gain = 0.5 + 0.02 * (age - 18) + 0.4 * (region == "south")
    score = 1 + 0.1 * years + trained * gain + generator.normal(size=N_ROWS)
    age[generator.uniform(size=N_ROWS) < 0.02] = np.nan
    return {"score": score, "trained": np.where(trained, "yes", "no"), "age": age, "region": region, "years": years}


FITS = {
    "r_shared_replace": lambda: RLearner(SCHEMA, epsilon=2.0, model=Additive(), random_state=1).fit_table(
        make_table(1)
    ),
    "dr_split_replace": lambda: DRLearner(
        SCHEMA, epsilon=8.0, plan="split", model=Additive(), random_state=2
    ).fit_table(make_table(2)),
    "s_shared_add_remove": lambda: SLearner(
        SCHEMA, epsilon=1.0, neighbours="add_remove", model=Additive(), random_state=3
    ).fit_table(make_table(3)),
}


def numbers_of(fitted):
    table = {name: values[:N_STORED] for name, values in make_table(9).items()}
    return {
        "ate": fitted.ate(),
        "effects": fitted.effect(table).tolist(),
        "epsilon": fitted.guarantee_.epsilon(1e-5),
        "intercepts": {name: model.intercept for name, model in sorted(fitted.models_.items())},
    }


def path_of(name):
    return FOLDER / f"{name}.json"


@pytest.mark.parametrize("name", FITS)
def test_a_seeded_fit_gives_the_stored_numbers(name):
    stored, now = json.loads(path_of(name).read_text(encoding="utf-8")), numbers_of(FITS[name]())
    assert now.keys() == stored.keys()
    assert now["effects"] == pytest.approx(stored["effects"], rel=1e-9)
    assert now["intercepts"] == pytest.approx(stored["intercepts"], rel=1e-9)
    assert now["ate"] == pytest.approx(stored["ate"], rel=1e-9)
    assert now["epsilon"] == pytest.approx(stored["epsilon"], rel=1e-9)


def renew():
    for name, make_fit in FITS.items():
        path_of(name).write_text(json.dumps(numbers_of(make_fit()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew()
