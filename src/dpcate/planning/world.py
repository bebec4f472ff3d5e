"""Made-up studies that look like a schema: features, propensity, outcome and effect drawn from assumptions alone.

Nothing here has an argument through which a table could be passed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from dpcate.errors import ParameterError
from dpcate.planning.surface import CURVED, Follower, Remainder, Surface
from dpcate.schema import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcate.schema import Feature, Schema

__all__ = ["FEATURES", "Assumptions", "Study", "World"]

FEATURES = ("bell", "uniform")

_OUTCOME_SD, _EFFECT_SD = 0.2, 0.05
"""Default standard deviations of outcome and effect, as shares of the outcome's range."""

_NOISE_SHARE = 0.5
"""Default share of the outcome's variance that no feature explains."""

_BELL_WIDTH = 4.0
"""A bell-shaped feature reaches its bounds at this many standard deviations."""

_PROPENSITY_SD, _CONFOUNDED = 1.0, 0.5
"""Spread of the assumed propensity's logit, and its correlation with the baseline: who is treated is no accident."""

_TREATED = 0.5
"""Share of the treated, where nothing is said of it."""

_OVERLAP = 0.05
"""Nobody is treated with a smaller chance, nor with one that is nearer to one."""

_FEW, _TOGETHER = 5, 0.5
"""Features that carry baseline and propensity, and the default share of their variance that is not a sum of curves."""

_EFFECT_FEATURES, _EFFECT_TOGETHER = 3, 0.25
"""Defaults of the same for the effect."""

_MANY = 4000
"""People on whom a function's spread is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the planner takes for granted about a table that it does not read.

    Parameters
    ----------
    effect_sd
        Standard deviation of the effect over people.
    noise_sd
        Standard deviation of the outcome given features and treatment.
    baseline_sd
        Standard deviation, over people, of the outcome that the features predict without treatment.
    average_effect
        Mean of the effect.
    effect_features
        How many features move the effect.
    together
        Share of the effect's variance that is not a sum of curves, one per feature, but hinges of sums of features.
    curved
        Share of the variance of that sum of curves that is bends and not straight lines.
    treated, propensity_sd, confounding
        Share of the treated, standard deviation of the propensity's logit, and its correlation with the baseline; a
        propensity that the schema knows overrules them.
    roughness, propensity_roughness
        As ``together``, for the baseline and for the propensity's logit. A propensity that is less rough than the
        baseline follows its sum of curves more than the rest of it.
    correlation
        How strongly features hang together: the absolute correlation of any two, with random signs.
    features
        ``"bell"``: numbers are bell-shaped and reach their bounds at four standard deviations. ``"uniform"``.
    """

    effect_sd: float
    noise_sd: float
    baseline_sd: float
    average_effect: float
    effect_features: int
    together: float
    curved: float
    treated: float
    propensity_sd: float
    confounding: float
    roughness: float
    propensity_roughness: float
    correlation: float
    features: str

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        effect_sd: float | None = None,
        noise_sd: float | None = None,
        baseline_sd: float | None = None,
        average_effect: float | None = None,
        effect_features: int = _EFFECT_FEATURES,
        together: float = _EFFECT_TOGETHER,
        curved: float = CURVED,
        treated: float = _TREATED,
        propensity_sd: float = _PROPENSITY_SD,
        confounding: float = _CONFOUNDED,
        roughness: float = _TOGETHER,
        propensity_roughness: float | None = None,
        correlation: float = 0.0,
        features: str = "bell",
    ) -> Assumptions:
        """Return what is given, and shares of the outcome's range, or the like, for the rest."""
        rough = roughness if propensity_roughness is None else propensity_roughness
        width = schema.outcome.high - schema.outcome.low
        effect = _EFFECT_SD * width if effect_sd is None else _number("effect_sd", effect_sd)
        variance = (_OUTCOME_SD * width) ** 2
        noise = math.sqrt(_NOISE_SHARE * variance) if noise_sd is None else _number("noise_sd", noise_sd, least=1e-12)
        base = math.sqrt((1 - _NOISE_SHARE) * variance) if baseline_sd is None else _number("baseline_sd", baseline_sd)
        mean = effect if average_effect is None else _number("average_effect", average_effect, least=-math.inf)
        if features not in FEATURES:
            raise ParameterError(f"`features` must be one of {FEATURES}; got {features!r}.")
        if isinstance(effect_features, bool) or not isinstance(effect_features, int) or effect_features < 1:
            raise ParameterError(f"`effect_features` must be a whole number, one or more; got {effect_features!r}.")
        shares = {
            "together": together,
            "curved": curved,
            "roughness": roughness,
            "propensity_roughness": rough,
            "correlation": correlation,
        }
        for name, share in shares.items():
            if not _number(name, share) <= 1.0:
                raise ParameterError(f"`{name}` must lie in [0, 1]; got {share!r}.")
        if not _OVERLAP < _number("treated", treated) < 1.0 - _OVERLAP:
            raise ParameterError(f"`treated` must lie between {_OVERLAP} and {1 - _OVERLAP}; got {treated!r}.")
        if not -1.0 <= _number("confounding", confounding, least=-1.0) <= 1.0:
            raise ParameterError(f"`confounding` must lie in [-1, 1]; got {confounding!r}.")
        return cls(
            effect_sd=effect,
            noise_sd=noise,
            baseline_sd=base,
            average_effect=mean,
            effect_features=min(effect_features, len(schema.features)),
            together=float(together),
            curved=float(curved),
            treated=float(treated),
            propensity_sd=_number("propensity_sd", propensity_sd),
            confounding=float(confounding),
            roughness=float(roughness),
            propensity_roughness=float(rough),
            correlation=float(correlation),
            features=features,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A made-up table, and what only a simulation knows: the effect of every row."""

    X: NDArray[Any]
    T: NDArray[np.int64]
    Y: NDArray[np.float64]
    effect: NDArray[np.float64]


class World:
    """One law of a study, drawn at random among those that the assumptions allow.

    Parameters
    ----------
    schema, assumed
        Public facts and assumptions.
    generator
        Public numbers.
    """

    def __init__(self, schema: Schema, assumed: Assumptions, generator: np.random.Generator) -> None:
        self.schema, self.assumed, self.generator = schema, assumed, generator
        self.signs = generator.choice((-1.0, 1.0), len(schema.features))
        scores = self._scores(_MANY)[0]
        self.baseline, propensity = (
            Surface.drawn(scores, generator, _FEW, share) for share in (assumed.roughness, assumed.propensity_roughness)
        )
        self.effect = Surface.drawn(scores, generator, assumed.effect_features, assumed.together, assumed.curved)
        beyond = min(assumed.propensity_roughness / assumed.roughness, 1.0) if assumed.roughness > 0.0 else 1.0
        self.confounders = Follower.of_surface(self.baseline, scores, beyond)
        self.propensity = Remainder.of_surface(propensity, self.confounders, scores)
        self.confounding = float(np.clip(assumed.confounding / self.confounders.likeness, -1.0, 1.0))
        self.middle = _middle(self.logit(scores), assumed.treated)

    def draw(self, n_rows: int) -> Study:
        """Return a table with ``n_rows`` people."""
        schema, assumed = self.schema, self.assumed
        scores, X = self._scores(n_rows)
        effect = assumed.average_effect + assumed.effect_sd * self.effect.of(scores)
        if schema.propensity is None:
            propensity = _chances(self.middle + self.logit(scores))
        else:
            propensity = np.full(n_rows, schema.propensity)
        T = (self.generator.uniform(size=n_rows) < propensity).astype(np.int64)
        middle = (schema.outcome.low + schema.outcome.high) / 2
        noise = self.generator.normal(0.0, assumed.noise_sd, n_rows)
        Y = middle + assumed.baseline_sd * self.baseline.of(scores) + (T - 0.5) * effect + noise
        arms = np.array(schema.treatment.levels, dtype=object)
        return Study(X, arms[T], Y, effect)

    def logit(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logit of each row's propensity around its middle: what follows the baseline, and what does not."""
        own = math.sqrt(1 - self.confounding**2) * self.propensity.of(scores)
        return self.assumed.propensity_sd * (self.confounding * self.confounders.of(scores) + own)

    def _scores(self, n_rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return each feature twice: on a common scale, and as the schema's values."""
        normals = self.generator.standard_normal((n_rows, len(self.schema.features)))
        common = self.generator.standard_normal(n_rows)[:, None] * self.signs
        normals *= math.sqrt(1 - self.assumed.correlation)
        normals += math.sqrt(self.assumed.correlation) * common
        X = np.empty(normals.shape, dtype=object)
        scores = np.empty_like(normals)
        for j, feature in enumerate(self.schema.features):
            scores[:, j], X[:, j] = self._column(feature, normals[:, j])
        return scores, X

    def _column(self, feature: Feature, normals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[Any]]:
        if not isinstance(feature, Number):
            places = np.minimum((ndtr(normals) * len(feature.levels)).astype(np.int64), len(feature.levels) - 1)
            spread = max(math.sqrt((len(feature.levels) ** 2 - 1) / 12), 0.5)
            return (places - (len(feature.levels) - 1) / 2) / spread, np.array(feature.levels, dtype=object)[places]
        if self.assumed.features == "uniform":
            shares = ndtr(normals)
            return (shares - 0.5) * math.sqrt(12), feature.low + shares * (feature.high - feature.low)
        inside = np.clip(normals, -_BELL_WIDTH, _BELL_WIDTH)
        return inside, feature.low + (inside / (2 * _BELL_WIDTH) + 0.5) * (feature.high - feature.low)


def _chances(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely each row is to be treated."""
    return np.clip(expit(logits), _OVERLAP, 1.0 - _OVERLAP)


def _middle(logits: NDArray[np.float64], treated: float) -> float:
    """Return what to add to logits so that this share is treated."""
    reach = float(np.abs(logits).max()) + 4.0  # there everybody's chance is at its limit
    return float(brentq(lambda middle: float(_chances(middle + logits).mean()) - treated, -reach, reach))


def _number(name: str, value: float, *, least: float = 0.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value >= least):
        raise ParameterError(f"`{name}` must be a finite number, zero or more; got {value!r}.")
    return float(value)
