"""The seal around everything that reads private values.

What numpy, pandas, polars and pyarrow say when they fail quotes the data, and what they warn of depends on it. Inside
the seal they may say it; outside there is a `TableError` that names the kind of failure, or nothing.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from dpcate.errors import DpcateError, TableError
from dpcate.kernels.quiet import no_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["sealed"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def sealed(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that never warns and raises nothing but dpcate's own errors.

    Privacy
    -------
    Errors leave without cause, context or inner frames, because those hold values: a library's text, a frame's locals.
    To debug on data that is not private, call ``function.__wrapped__``.
    """

    @wraps(function)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        failure: DpcateError
        try:
            with no_warnings(), np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except DpcateError as error:
            failure = error
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic in polars is no Exception, and quotes values too
            failure = TableError(
                f"The table must be one that its own library can read; reading it ended in {type(error).__name__}."
            )
        # Raised here, outside the handlers, so that Python attaches no context.
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)

    return guarded
