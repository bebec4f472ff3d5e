"""Warnings stay silent until the last of several threads is done, and come back then."""

import threading
import warnings

import pytest

from dpcate.kernels.quiet import no_warnings


def test_warnings_come_back_after_the_context():
    with no_warnings():
        warnings.warn("silent", stacklevel=1)
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_the_first_to_leave_does_not_end_the_silence_of_the_others():
    inside, leave, heard = threading.Event(), threading.Event(), []

    def stay():
        with no_warnings():
            inside.set()
            leave.wait(10)
            with warnings.catch_warnings(record=True) as caught:
                warnings.warn("a row's value", stacklevel=1)
            heard.extend(caught)

    with no_warnings():
        other = threading.Thread(target=stay)
        other.start()
        assert inside.wait(10)
    leave.set()
    other.join(10)
    assert heard == []


def test_an_error_ends_the_silence_too():
    with pytest.raises(ValueError, match="wrong"), no_warnings():
        raise ValueError("wrong")
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)
