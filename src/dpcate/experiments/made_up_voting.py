"""Made-up voters: a stand-in for figure 1 where neither the paper's voting data nor GOTV are at hand.

Nobody in it exists. Ages, past votes and turnout are drawn from formulas that were written down here to look like a
register of voters; the effect is the paper's, put in as the paper does it. Results from it are labelled as made up.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from dpcate.experiments.spiked import SpikedStudy, spiked_effect
from dpcate.schema import Category, Number, Schema

__all__ = ["MADE_UP", "MADE_UP_SCHEMA", "make_made_up_voting"]

MADE_UP = "made-up voters"
N_PEOPLE, N_TRAINING, SEED = 150_000, 100_000, 2006
TREATED_SHARE = 0.4
MADE_UP_SCHEMA = Schema(
    outcome=Number("voted", 0, 1),
    treatment=Category("called", [0, 1]),
    features=[
        Number("persons", 1, 4),
        *(Category(name, [0, 1]) for name in ("newreg", "vote98", "vote00")),
        Number("age", 18, 100),
        Category("female", [0, 1]),
    ],
)


def make_made_up_voting() -> SpikedStudy:
    """Return the study: 150,000 people from a fixed seed, two in three for training.

    Examples
    --------
    >>> study = make_made_up_voting()
    >>> float(study.effect.max()), len(study.draw(5, seed=1).table["age"])
    (0.0, 5)
    """
    generator = np.random.default_rng(SEED)
    age = np.floor(18 + 82 * generator.beta(1.8, 2.4, size=N_PEOPLE))
    keen = generator.normal(size=N_PEOPLE) + (age - 50) / 40
    people = {
        "persons": generator.integers(1, 5, size=N_PEOPLE).astype(np.float64),
        "newreg": (generator.uniform(size=N_PEOPLE) < expit(-1.5 - (age - 50) / 20)).astype(np.int64),
        "vote98": (generator.uniform(size=N_PEOPLE) < expit(1.2 * keen - 0.6)).astype(np.int64),
        "vote00": (generator.uniform(size=N_PEOPLE) < expit(1.2 * keen + 0.6)).astype(np.int64),
        "age": age,
        "female": generator.integers(0, 2, size=N_PEOPLE),
    }
    turnout = expit(-1.6 + 1.3 * people["vote00"] + 1.0 * people["vote98"] + 0.3 * keen)
    return SpikedStudy(
        name=MADE_UP,
        schema=MADE_UP_SCHEMA,
        people={**people, "voted": (generator.uniform(size=N_PEOPLE) < turnout).astype(np.float64)},
        effect=spiked_effect(people["vote00"].astype(np.float64), age),
        n_training=N_TRAINING,
        treated_share=TREATED_SHARE,
    )
