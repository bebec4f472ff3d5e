"""Where randomness comes from: the operating system, or a seed that voids the guarantee.

Every privacy guarantee assumes noise that nobody can predict. :class:`SystemNoise` draws it from the operating system's
entropy through OpenDP's exact discrete Gaussian sampler. :class:`SeededNoise` exists for tests and simulations; whoever
knows the seed can subtract the noise, so everything released with it carries ``void=True``. Proof:
``docs/privacy/discrete_gaussian.md``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcate.errors import ParameterError
from dpcate.kernels.pool import available_cores, kept_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["InjectedNoise", "NoiseSource", "SeededNoise", "SystemNoise", "make_noise"]


_WORTH_A_THREAD, _MOST_THREADS = 128, 8
"""Draws that take clearly longer than starting a thread, and how many threads may share them."""


class NoiseSource(Protocol):
    """What a mechanism needs: privacy noise, and coins that do not depend on the table."""

    @property
    def void(self) -> bool:
        """Whether guarantees that rest on this noise are void."""
        ...

    def discrete_gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        """Draw ``size`` independent integers k with probability proportional to exp(-k^2 / (2 scale^2))."""
        ...

    def coins(self) -> np.random.Generator:
        """Return a fresh generator for choices that never look at the table (parts, random splits)."""
        ...

    def key(self) -> int:
        """Return a fresh 128-bit key for a counter-based generator."""
        ...


@lru_cache(maxsize=256)
def _gaussian_sampler(scale: float) -> Any:  # noqa: ANN401 - OpenDP's measurement type carries no stubs
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


@dataclass(frozen=True, slots=True)
class SystemNoise:
    """Noise from the operating system's entropy; the only source under which a guarantee holds."""

    void: bool = field(default=False, init=False)

    def discrete_gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        """Draw exact discrete Gaussian integers (OpenDP; rejection sampling on exact rationals).

        Many draws are shared among threads: the sampler runs outside Python's lock, and OpenDP seeds a generator per
        thread from the operating system, so the shares are as independent as draws of one thread.
        """
        sampler = _gaussian_sampler(scale)
        n_shares = max(1, min(available_cores(), _MOST_THREADS, size // _WORTH_A_THREAD))
        exact = np.array_split(np.zeros(size, dtype=np.int64), n_shares)
        if n_shares == 1:
            return np.array(sampler(exact[0]), dtype=np.int64)
        beside = kept_threads("draws", n_shares - 1)
        others = [beside.submit(sampler, share) for share in exact[1:]]
        mine = sampler(exact[0])
        return np.concatenate([mine, *(other.result() for other in others)], dtype=np.int64)

    def coins(self) -> np.random.Generator:
        """Return a generator keyed with 128 fresh bits of system entropy."""
        return np.random.Generator(np.random.Philox(key=self.key()))

    def key(self) -> int:
        """Return 128 fresh bits of system entropy."""
        return int.from_bytes(os.urandom(16), "little")


class SeededNoise:
    """Reproducible noise for tests and simulations; voids every guarantee that rests on it.

    The integers are rounded normals. At the scales that mechanisms use (thousands of grid steps and more) their law
    cannot be told from the discrete Gaussian in any simulation.

    Parameters
    ----------
    seed
        Anything that :func:`numpy.random.default_rng` takes.
    """

    def __init__(self, seed: int | np.random.Generator | np.random.SeedSequence) -> None:
        self._generator = np.random.default_rng(seed)

    @property
    def void(self) -> bool:
        """Always True: a known seed is no noise."""
        return True

    def discrete_gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        """Draw rounded normals of the given scale."""
        return np.rint(self._generator.normal(scale=scale, size=size)).astype(np.int64)

    def coins(self) -> np.random.Generator:
        """Return a generator whose state follows from the seed and the calls made so far."""
        return np.random.Generator(np.random.Philox(key=self.key()))

    def key(self) -> int:
        """Return the next 128 bits of the seeded stream."""
        return int.from_bytes(self._generator.bytes(16), "little")


class InjectedNoise:
    """Anybody's own source of noise, for tests; whatever it says of itself, guarantees that rest on it are void."""

    def __init__(self, source: NoiseSource) -> None:
        self._source = source

    @property
    def void(self) -> bool:
        """Always True: only the operating system's entropy is known to be unpredictable."""
        return True

    def discrete_gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        """Draw from the wrapped source."""
        return self._source.discrete_gaussian(scale, size)

    def coins(self) -> np.random.Generator:
        """Draw from the wrapped source."""
        return self._source.coins()

    def key(self) -> int:
        """Draw from the wrapped source."""
        return self._source.key()


def make_noise(random_state: int | np.random.Generator | NoiseSource | None) -> NoiseSource:
    """Turn a ``random_state`` into a noise source: None is the operating system, anything else voids the guarantee.

    Examples
    --------
    >>> make_noise(None).void, make_noise(7).void
    (False, True)
    """
    if random_state is None:
        return SystemNoise()
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return SeededNoise(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return SeededNoise(random_state)
    if type(random_state) is SystemNoise:
        return random_state
    if all(hasattr(random_state, name) for name in ("discrete_gaussian", "coins", "key")):
        return InjectedNoise(random_state)  # type: ignore[arg-type]
    raise ParameterError(
        "`random_state` must be None (private), a non-negative integer, a numpy Generator or a noise source; "
        f"got {type(random_state).__name__}."
    )
