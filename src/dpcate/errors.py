"""Every exception that dpcate raises, in one tree.

No message here or anywhere else may contain a value, a minimum, a maximum or a count that came from a table: column
names, shapes, dtypes and the caller's own parameters are all that an error may quote.

::

    DpcateError
    ├── ParameterError      (ValueError)      an option is out of range or unknown
    ├── SchemaError         (ValueError)      the schema is incomplete or contradicts itself
    │   └── BoundsMissingError                a number came without public bounds
    ├── TableError          (ValueError)      the table does not carry the columns that the schema names
    ├── TransformationError (ValueError)      a stage's transformation is not row by row, or has the wrong shape
    ├── BudgetError         (RuntimeError)    the run would cost more privacy than was asked for, or than is left
    ├── LedgerError         (RuntimeError)    a ledger cannot be used, does not know the data set, or was tampered with
    ├── NotFittedError      (AttributeError)  a result was asked for before ``fit``
    ├── NotAvailableError   (NotImplementedError)  this model or extra does not offer what was asked for
    └── DocumentError       (ValueError)      a saved file is not one of ours, or is damaged
"""

from __future__ import annotations

__all__ = [
    "BoundsMissingError",
    "BudgetError",
    "DocumentError",
    "DpcateError",
    "LedgerError",
    "NotAvailableError",
    "NotFittedError",
    "ParameterError",
    "SchemaError",
    "TableError",
    "TransformationError",
]


class DpcateError(Exception):
    """Base of all errors that dpcate raises on purpose."""


class ParameterError(DpcateError, ValueError):
    """An option is out of range or unknown."""


class SchemaError(DpcateError, ValueError):
    """The schema is incomplete or contradicts itself."""


class BoundsMissingError(SchemaError):
    """A number came without public bounds.

    Examples
    --------
    >>> raise BoundsMissingError("age", example='Number("age", 18, 105)')
    Traceback (most recent call last):
        ...
    dpcate.errors.BoundsMissingError: Number 'age' needs public bounds; write them down without looking at the table, \
e.g. Number("age", 18, 105).
    """

    def __init__(self, column: str, *, example: str) -> None:
        super().__init__(
            f"Number {column!r} needs public bounds; write them down without looking at the table, e.g. {example}."
        )


class TableError(DpcateError, ValueError):
    """The table does not carry the columns that the schema names, or in a form that cannot be read."""


class TransformationError(DpcateError, ValueError):
    """A stage's transformation is not row by row, or returns the wrong shape."""


class BudgetError(DpcateError, RuntimeError):
    """The run would cost more privacy than was asked for, or than the data set has left."""


class LedgerError(DpcateError, RuntimeError):
    """A ledger cannot be read or written, does not know the data set, or was tampered with."""


class NotFittedError(DpcateError, AttributeError):
    """A result was asked for before ``fit``."""


class NotAvailableError(DpcateError, NotImplementedError):
    """What was asked for is not offered by this model, or needs an optional extra."""


class DocumentError(DpcateError, ValueError):
    """A saved file is not one of ours, or is damaged."""
