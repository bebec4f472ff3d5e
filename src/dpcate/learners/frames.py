"""Results as pandas frames, where pandas is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcate.errors import NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["make_frame"]


def make_frame(
    columns: Mapping[str, Any], index: Sequence[Any] | None = None, *, name: str | None = None
) -> pd.DataFrame:
    """Return a pandas frame of the columns.

    Parameters
    ----------
    columns
        Values by column name.
    index, name
        Labels of the rows, and what they are labels of.

    Raises
    ------
    NotAvailableError
        When pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise NotAvailableError('frames need an extra: pip install "dpcate[pandas]".') from None
    return pd.DataFrame(
        dict(columns), index=pd.RangeIndex(0, _length(columns)) if index is None else pd.Index(index, name=name)
    )


def _length(columns: Mapping[str, Any]) -> int:
    return len(next(iter(columns.values())))
