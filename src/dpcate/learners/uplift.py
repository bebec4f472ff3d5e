"""What is won by treating those with the largest released effect first, measured on rows that no other stage has read.

Everything here is post-processing of one release of sums by slice. Derivation: ``docs/statistics/validation.md``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from dpcate.learners.bands import simultaneous_quantile
from dpcate.learners.frames import make_frame
from dpcate.learners.intervals import quantile
from dpcate.models.simplex import project_to_simplex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["UpliftCurve", "UpliftPoint", "find_uplift_curve"]

_FARTHEST, _TRUSTED = 3.0, 0.25
"""Mean squares may differ from what was expected by this factor, and are half believed at this relative noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpliftPoint:
    """What is won by treating everybody whose released effect reaches a cutoff.

    Parameters
    ----------
    share
        Noisy share of people who are treated then.
    cutoff
        The released effect from which on people are treated; None treats everybody.
    gain, stderr
        Outcome per person of the whole population, over treating nobody, and its standard error.
    lower, upper
        Limits of the gain at this point alone.
    band_lower, band_upper
        Limits that hold at all points at once.
    at_random
        Gain if as many people were treated at random.
    """

    share: float
    cutoff: float | None
    gain: float
    stderr: float
    lower: float
    upper: float
    band_lower: float
    band_upper: float
    at_random: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UpliftCurve:
    """The uplift curve, also called Qini curve; going over it gives one :class:`UpliftPoint` each, after (0, 0).

    Parameters
    ----------
    points
        From few people treated to everybody.
    qini, qini_stderr, qini_interval
        Area between the curve and the straight line of treating at random: zero if the released effect orders people no
        better than chance, negative if it orders them the wrong way round.
    p_qini
        Two-sided p-value of ``qini`` = 0.
    alpha
        One less the probability that the intervals hold with.
    """

    points: tuple[UpliftPoint, ...]
    qini: float
    qini_stderr: float
    qini_interval: tuple[float, float]
    p_qini: float
    alpha: float

    def __iter__(self) -> Iterator[UpliftPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per point, with the fields of :class:`UpliftPoint` as columns."""
        rows = [asdict(point) for point in self.points]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def summary_frame(self) -> pd.DataFrame:
        """Return one row per point, under EconML's names."""
        return make_frame(
            {
                "point_estimate": [point.gain for point in self.points],
                "stderr": [point.stderr for point in self.points],
                "ci_lower": [point.lower for point in self.points],
                "ci_upper": [point.upper for point in self.points],
            },
            [point.share for point in self.points],
            name="share",
        )


@dataclass(frozen=True, slots=True)
class _Slices:
    """Per slice, what it adds to everybody's gain and its share of people, with the errors of both.

    ``covariance`` is that of all gains followed by all shares.
    """

    gains: NDArray[np.float64]
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]


def find_uplift_curve(sums: Mapping[str, Any], level: float, *, widest: float, alpha: float) -> UpliftCurve:
    """Return the curve.

    Parameters
    ----------
    sums
        The details of the stage with the sums by slice.
    level
        The effect that was subtracted from everybody's target.
    widest
        Largest effect that the outcome's bounds allow: no limit goes beyond it.
    alpha
        One less the probability that the intervals are to hold with.
    """
    times, slices = quantile(alpha), _read(sums, level)
    qini, stderr = _qini(slices)
    return UpliftCurve(
        points=_points(slices, [*(float(cut) for cut in sums["cuts"]), None], widest, alpha),
        qini=qini,
        qini_stderr=stderr,
        qini_interval=(qini - times * stderr, qini + times * stderr),
        p_qini=float(2 * norm.sf(abs(qini) / stderr)) if stderr > 0 else 1.0,
        alpha=alpha,
    )


def _points(slices: _Slices, cutoffs: Sequence[float | None], widest: float, alpha: float) -> tuple[UpliftPoint, ...]:
    """Return the curve's points: sums over the first slices."""
    n_points = len(cutoffs)
    functions = np.hstack([np.tri(n_points), np.zeros((n_points, n_points))])
    gains, shares = np.cumsum(slices.gains), np.cumsum(slices.shares)
    stderr = np.sqrt(np.maximum(((functions @ slices.covariance) * functions).sum(axis=1), 0.0))
    reaches = quantile(alpha), simultaneous_quantile(functions, slices.covariance, alpha)
    (lower, upper), (band_lower, band_upper) = (
        np.clip([gains - reach * stderr, gains + reach * stderr], -widest, widest) for reach in reaches
    )
    return tuple(
        UpliftPoint(
            share=float(shares[k]),
            cutoff=cutoff,
            gain=float(gains[k]),
            stderr=float(stderr[k]),
            lower=float(lower[k]),
            upper=float(upper[k]),
            band_lower=float(band_lower[k]),
            band_upper=float(band_upper[k]),
            at_random=float(shares[k] * gains[-1]),
        )
        for k, cutoff in enumerate(cutoffs)
    )


def _qini(slices: _Slices) -> tuple[float, float]:
    """Return the area between curve and straight line, and its standard error.

    The area under the polygon less that under the line is the sum of (g_l p_k - g_k p_l) / 2 over slices l before k.
    """
    places = np.arange(len(slices.gains))
    order = 0.5 * np.sign(np.subtract.outer(places, places)).T
    by_share, by_gain = order @ slices.shares, slices.gains @ order
    gradient = np.concatenate([by_share, by_gain])
    variance = float(gradient @ slices.covariance @ gradient)
    return float(slices.gains @ by_share), float(np.sqrt(max(variance, 0.0)))


def _read(sums: Mapping[str, Any], level: float) -> _Slices:
    """Return the slices' gains and shares: sampling, privacy noise and first stages are all in the covariance."""
    noise = float(sums["count_noise"])
    noisy, loadings = np.array(sums["counts"]), np.array(sums["loadings"])
    n_rows = max(float(noisy.sum()), noise * float(np.sqrt(len(noisy))), 1.0)
    shares = project_to_simplex(noisy, n_rows) / n_rows
    per_sum = 1.0 / (float(sums["attenuation"]) * loadings * n_rows)
    gains = np.array(sums["sums"]) * per_sum + level * shares
    both = np.concatenate([gains, shares])
    squares = 2 * level * gains - level**2 * shares
    squares += shares * _mean_squares(sums, shares * n_rows) * (per_sum * n_rows) ** 2
    moments = np.block([[np.diag(squares), np.diag(gains)], [np.diag(gains), np.diag(shares)]])
    covariance = (moments - np.outer(both, both)) / n_rows
    unit = np.eye(len(shares))
    moved = noise / n_rows * (np.vstack([level * unit, unit]) - both[:, None])
    covariance += moved @ moved.T
    own = slice(0, len(shares))
    covariance[own, own] += np.diag((float(sums["sum_noise"]) * per_sum) ** 2)
    covariance[own, own] += np.array(sums["shift"]) / np.outer(loadings, loadings)
    return _Slices(gains, shares, covariance)


def _mean_squares(sums: Mapping[str, Any], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean squared score of each slice: what was expected, corrected as far as the noise allows.

    First for all slices together, then for each.
    """
    noise = float(sums["square_noise"])
    expected = counts * float(sums["clipped_variance"]) * np.array(sums["loadings"])
    total = float(expected.sum())
    overall = _corrected(np.array([np.sum(sums["squares"])]), np.array([total]), noise * float(np.sqrt(len(counts))))
    each = _corrected(np.array(sums["squares"]), expected * overall, noise)
    mean: NDArray[np.float64] = overall * each * float(sums["clipped_variance"]) * np.array(sums["loadings"])
    return mean


def _corrected(seen: NDArray[np.float64], expected: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Return by what factor to multiply what was expected."""
    trust = expected**2 / (expected**2 + (noise / _TRUSTED) ** 2)
    ratio = np.divide(seen, expected, out=np.ones_like(seen), where=expected > 0)
    factor: NDArray[np.float64] = trust * np.clip(ratio, 1 / _FARTHEST, _FARTHEST) + 1.0 - trust
    return factor
