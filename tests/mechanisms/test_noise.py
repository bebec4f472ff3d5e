import numpy as np
import pytest

from dpcate.errors import ParameterError
from dpcate.mechanisms import SeededNoise, SystemNoise, make_noise

SCALE = 2.0**21


def test_no_random_state_means_system_noise_that_is_not_void():
    assert isinstance(make_noise(None), SystemNoise)
    assert not make_noise(None).void


@pytest.mark.parametrize("state", [0, 7, np.int64(3), np.random.default_rng(1)])
def test_any_seed_voids_the_guarantee(state):
    assert isinstance(make_noise(state), SeededNoise)
    assert make_noise(state).void


def test_a_source_of_ones_own_draws_as_it_would_alone_and_is_always_void():
    injected = make_noise(SeededNoise(5))
    assert injected.void
    assert injected.key() == SeededNoise(5).key()
    system = SystemNoise()
    assert make_noise(system) is system
    assert not make_noise(SystemNoise()).void


@pytest.mark.parametrize("state", [-1, 1.5, "7", True, object(), [1]])
def test_other_random_states_are_refused(state):
    with pytest.raises(ParameterError, match="random_state"):
        make_noise(state)


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(0)])
def test_system_noise_cannot_be_made_void_or_valid_by_hand(source):
    with pytest.raises((AttributeError, TypeError)):
        source.void = not source.void


def test_the_same_seed_gives_the_same_noise_coins_and_keys():
    one, other = SeededNoise(4), SeededNoise(4)
    assert np.array_equal(one.discrete_gaussian(SCALE, 9), other.discrete_gaussian(SCALE, 9))
    assert one.coins().integers(10**9) == other.coins().integers(10**9)
    assert one.key() == other.key()
    assert not np.array_equal(SeededNoise(5).discrete_gaussian(SCALE, 9), SeededNoise(4).discrete_gaussian(SCALE, 9))


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(0)])
def test_every_call_is_fresh(source):
    assert not np.array_equal(source.discrete_gaussian(SCALE, 20), source.discrete_gaussian(SCALE, 20))
    assert source.key() != source.key()
    assert source.coins().integers(2**60) != source.coins().integers(2**60)


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(0)])
def test_keys_have_128_bits(source):
    keys = [source.key() for _ in range(64)]
    assert all(0 <= key < 2**128 for key in keys)
    assert max(keys) > 2**120


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(0)])
@pytest.mark.parametrize("size", [0, 1, 10])
def test_as_many_integers_as_asked_for(source, size):
    draws = source.discrete_gaussian(SCALE, size)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("size", [0, 1, 127, 128, 255, 256, 1000])
@pytest.mark.parametrize("n_processors", [1, 2, 64, None])
def test_draws_shared_among_threads_are_as_many_as_asked_and_all_differ(monkeypatch, size, n_processors):
    monkeypatch.setattr("dpcate.mechanisms.noise.os.cpu_count", lambda: n_processors)
    drawn = SystemNoise().discrete_gaussian(2.0**40, size)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64
    assert len(np.unique(drawn)) == size, "threads with the same state would repeat one another"


def test_draws_shared_among_threads_have_the_scale_and_are_uncorrelated(monkeypatch):
    monkeypatch.setattr("dpcate.mechanisms.noise.os.cpu_count", lambda: 2)
    drawn = SystemNoise().discrete_gaussian(SCALE, 8000) / SCALE
    assert np.std(drawn) == pytest.approx(1.0, abs=0.05)
    assert abs(np.corrcoef(drawn[:4000], drawn[4000:])[0, 1]) < 0.08
