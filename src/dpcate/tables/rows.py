"""Encoded rows: what the rest of the package sees of a table.

Rows hold codes, clamped outcomes and arms, never the table they came from. Their text says nothing of what is in
them, and their arrays cannot be written to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcate.errors import ParameterError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rows:
    """The encoded rows of one table.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n_rows, n_features)
        Code of each feature, in schema order; 0 is missing or "other". Columns are contiguous.
    Y : ndarray of float64, shape (n_rows,)
        Outcomes, clamped to the schema's bounds; 0 in inactive rows.
    T : ndarray of int8, shape (n_rows,)
        Arms by position in the schema, 0 is control; 0 in inactive rows.
    active : ndarray of bool, shape (n_rows,)
        False where the outcome or the treatment is missing. Such a row must contribute nothing anywhere.

    Privacy
    -------
    Private: every entry is as sensitive as the table. Row ``i`` depends on row ``i`` of the table and the schema
    only. The number of rows is private too under add/remove, so it is not part of the text form. See
    `docs/privacy/public_private_line.md`.
    """

    codes: npt.NDArray[np.uint16]
    Y: npt.NDArray[np.float64]
    T: npt.NDArray[np.int8]
    active: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        n_rows = len(self.codes)
        if self.codes.ndim != 2 or any(array.shape != (n_rows,) for array in (self.Y, self.T, self.active)):
            dimensions = [array.ndim for array in (self.codes, self.Y, self.T, self.active)]
            raise TableError(
                f"Rows must have codes of shape (n, d) and Y, T, active of shape (n,), the same n for all; got arrays "
                f"of {dimensions} dimensions."
            )
        for field in fields(self):
            view = getattr(self, field.name).view()
            view.flags.writeable = False
            object.__setattr__(self, field.name, view)

    @property
    def n_rows(self) -> int:
        """Number of rows, active or not."""
        return len(self.codes)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[1])

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Rows(n_features={self.n_features})"

    def __getitem__(self, window: slice) -> Rows:
        """Return the rows of a slice as views."""
        if not isinstance(window, slice):
            raise ParameterError(
                f"Rows must be indexed by a slice; got {type(window).__name__}. Use `take` for the rest."
            )
        return Rows(self.codes[window], self.Y[window], self.T[window], self.active[window])

    def take(self, which: npt.NDArray[Any]) -> Rows:
        """Return a copy of the rows that a boolean mask or an index array names."""
        picked = np.flatnonzero(which) if which.dtype == np.bool_ else which
        if which.dtype == np.bool_ and len(which) != self.n_rows:
            raise ParameterError("A mask must have one entry per row.")
        codes = np.empty((len(picked), self.n_features), dtype=np.uint16, order="F")
        for column in range(self.n_features):
            codes[:, column] = self.codes[picked, column]
        return Rows(codes, self.Y[picked], self.T[picked], self.active[picked])

    def with_arm(self, arm: int) -> Rows:
        """Return the same rows as if all were in one arm, for predicting potential outcomes."""
        return replace(self, T=np.full(self.n_rows, arm, dtype=np.int8))

    def inputs(self, *, with_treatment: bool) -> npt.NDArray[np.uint16]:
        """Return the encoded inputs of a model: the features and, if asked, the arm as a last column of codes."""
        if not with_treatment:
            return self.codes
        codes = np.empty((self.n_rows, self.n_features + 1), dtype=np.uint16, order="F")
        codes[:, :-1] = self.codes
        codes[:, -1] = self.T + 1
        return codes

    @classmethod
    def of_features(cls, codes: npt.NDArray[np.uint16]) -> Rows:
        """Return rows with features only: no outcome, no arm, for predicting from released models."""
        n_rows = len(codes)
        return cls(codes, np.zeros(n_rows), np.zeros(n_rows, dtype=np.int8), np.ones(n_rows, dtype=np.bool_))

    def batches(self, size: int) -> Iterator[Rows]:
        """Yield the rows in order, as views of at most `size` rows."""
        if size < 1:
            raise ParameterError(f"`size` must be at least 1; got {size}.")
        for start in range(0, self.n_rows, size):
            yield self[start : start + size]
