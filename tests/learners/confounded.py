"""A small confounded study whose effects are known: x moves who is treated, the outcome and the effect."""

import copy
from dataclasses import replace

import numpy as np

from dpcate import Category, Number, Schema
from dpcate.models import POSTERIOR

SCHEMA = Schema(
    outcome=Number("y", -1.5, 3.5),
    treatment=Category("t", [0, 1]),
    features=[Number("x", 0, 1), Category("town", ["a", "b", "c"])],
)
ATE = 0.4  # mean of 0.2 + 0.4 x
ATT = (0.06 + 0.2 / 2 + 0.16 / 3) / 0.5  # E[(0.2 + 0.4 x)(0.3 + 0.4 x)] / E[0.3 + 0.4 x]


def draw(n, seed):
    """One table of n rows."""
    generator = np.random.default_rng(seed)
    x, town = generator.uniform(size=n), generator.choice(["a", "b", "c"], n)
    t = (generator.uniform(size=n) < 0.3 + 0.4 * x).astype(int)
    y = x + t * effect(x) + 0.3 * generator.normal(size=n)
    return {"y": y, "t": t, "x": x, "town": town}


def effect(x):
    """The true effect."""
    return 0.2 + 0.4 * np.asarray(x)


def with_known_propensity():
    """The same columns, for a trial with a coin."""
    return Schema(SCHEMA.outcome, SCHEMA.treatment, SCHEMA.features, propensity=0.5)


def shifted(fitted, size, *, seed=21):
    """The same release, but the centres of its intervals are moved by random coefficients of this size."""
    model = fitted.models_["effect"]
    document = model.details[POSTERIOR]
    shift = size * np.random.default_rng(seed).normal(size=len(document["kept"]))
    details = {**model.details, POSTERIOR: {**document, "shift": shift.tolist()}}
    moved = copy.copy(fitted)
    moved.models_ = {**fitted.models_, "effect": replace(model, details=details)}
    return moved
