"""The released form of every model: an additive function of the encoded columns.

It holds released numbers only. Predicting is table lookup and addition in a fixed order, element by element, so a row's
prediction never depends on its place in a batch; later stages rely on that for their sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpcate.accounting import Guarantee
from dpcate.errors import DocumentError
from dpcate.kernels import add_lookups
from dpcate.models.logistic import logistic
from dpcate.models.runs import pack_runs, unpack_runs
from dpcate.models.shape import Shape
from dpcate.schema import column_from_dict, column_to_dict
from dpcate.tables import n_codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from dpcate.schema import Feature

__all__ = ["AdditiveFunction", "Product"]


@dataclass(frozen=True, slots=True)
class Product:
    """A term of two columns: ``left[code of first] * right[code of second] - mean``.

    Parameters
    ----------
    first, second
        The columns.
    left, right
        One factor per code of each.
    mean
        Released mean of the product, so that the term averages zero.
    """

    first: int
    second: int
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    mean: float = 0.0

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    def values(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the term for each row of ``codes``."""
        product: NDArray[np.float64] = np.take(self.left, codes[:, self.first])
        product *= np.take(self.right, codes[:, self.second])
        product -= self.mean
        return product

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and largest value of the term."""
        corners = np.outer([self.left.min(), self.left.max()], [self.right.min(), self.right.max()]) - self.mean
        return float(corners.min()), float(corners.max())

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "columns": [self.first, self.second],
            "left": pack_runs(self.left),
            "right": pack_runs(self.right),
            "mean": self.mean,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], sizes: Sequence[int]) -> Product:
        """Return the term that :meth:`to_dict` described, for columns with this many codes."""
        first, second = (int(column) for column in document["columns"])
        term = cls(
            first, second, unpack_runs(document["left"]), unpack_runs(document["right"]), float(document["mean"])
        )
        inside = 0 <= first < len(sizes) and 0 <= second < len(sizes)
        if not inside or (len(term.left), len(term.right)) != (sizes[first], sizes[second]):
            raise DocumentError("the products of a saved model do not fit its columns; the file is damaged.")
        return term


def _frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy that nobody can write to: a stage that runs later must not be able to put rows in here."""
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy


Link = Literal["identity", "logistic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveFunction:
    """``link(intercept + sum_j tables[j][code_j] + products)``, clipped to ``[low, high]``.

    Parameters
    ----------
    columns
        Public description of the inputs.
    intercept
        Average of the function before the link, over the noisy distribution of the inputs.
    tables
        Per column, the term's value for each code; centred under ``shares``.
    shares
        Per column, the noisy share of rows at each code (sums to one); what averages are taken over.
    guarantee_
        What releasing this function cost.
    link
        ``"logistic"`` for probabilities fitted on the logit scale.
    low, high
        Predictions are clipped to this range.
    products
        Terms of two columns each, averaging zero as far as released numbers tell.
    details
        Further released numbers that the fitting model reports (noise scales, residual scale, ...); JSON values.
    """

    columns: tuple[Feature, ...]
    intercept: float
    tables: tuple[NDArray[np.float64], ...]
    shares: tuple[NDArray[np.float64], ...]
    guarantee_: Guarantee
    link: Link = "identity"
    low: float = -np.inf
    high: float = np.inf
    products: tuple[Product, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("tables", "shares"):
            object.__setattr__(self, name, tuple(_frozen(values) for values in getattr(self, name)))

    def centred(self) -> AdditiveFunction:
        """Return the same function with each term averaging zero under its shares and the intercept adjusted."""
        means = [float(table @ share) for table, share in zip(self.tables, self.shares, strict=True)]
        tables = tuple(table - mean for table, mean in zip(self.tables, means, strict=True))
        return replace(self, tables=tables, intercept=self.intercept + sum(means))

    @property
    def average(self) -> float:
        """The average score over the noisy distribution of the inputs, within the range of the function's values."""
        return float(np.clip(self.intercept, self.low, self.high))

    def score(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return intercept plus terms for each row of ``codes``, before link and clipping."""
        total = np.full(len(codes), self.intercept)
        add_lookups(total, codes, self.tables)
        for product in self.products:
            total += product.values(codes)
        return total

    def predict(self, codes: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Return the function's value for each row of ``codes``."""
        score = self.score(codes)
        return np.clip(logistic(score) if self.link == "logistic" else score, self.low, self.high)

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and largest value that the function can take on any input: free post-processing."""
        pairs = [product.extremes() for product in self.products]
        low = self.intercept + sum(float(table.min()) for table in self.tables) + sum(pair[0] for pair in pairs)
        high = self.intercept + sum(float(table.max()) for table in self.tables) + sum(pair[1] for pair in pairs)
        if self.link == "logistic":
            low, high = (float(value) for value in logistic(np.array([low, high])))
        return float(np.clip(low, self.low, self.high)), float(np.clip(high, self.low, self.high))

    def shapes(self) -> dict[str, Shape]:
        """Return each column's term as a readable curve (before the link)."""
        return {
            column.name: Shape.of(column, table, share)
            for column, table, share in zip(self.columns, self.tables, self.shares, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able document of released numbers."""
        bounds = [None if np.isinf(bound) else bound for bound in (self.low, self.high)]
        return {
            "columns": [column_to_dict(column) for column in self.columns],
            "intercept": self.intercept,
            "tables": [pack_runs(table) for table in self.tables],
            "shares": [pack_runs(share) for share in self.shares],
            "products": [product.to_dict() for product in self.products],
            "link": self.link,
            "bounds": bounds,
            "details": dict(self.details),
            "guarantee": self.guarantee_.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> AdditiveFunction:
        """Return the function that :meth:`to_dict` described."""
        columns = tuple(column_from_dict(column) for column in document["columns"])
        tables = tuple(unpack_runs(runs) for runs in document["tables"])
        shares = tuple(unpack_runs(runs) for runs in document["shares"])
        sizes = [n_codes(column) for column in columns]
        if [len(table) for table in tables] != sizes or [len(share) for share in shares] != sizes:
            raise DocumentError("the tables of a saved model do not fit its columns; the file is damaged.")
        low, high = document["bounds"]
        return cls(
            columns=columns,
            intercept=float(document["intercept"]),
            tables=tables,
            shares=shares,
            products=tuple(Product.from_dict(product, sizes) for product in document["products"]),
            guarantee_=Guarantee.from_dict(document["guarantee"]),
            link=document["link"],
            low=-np.inf if low is None else float(low),
            high=np.inf if high is None else float(high),
            details=document["details"],
        )
