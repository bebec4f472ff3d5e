"""GOTV: a get-out-the-vote trial by letter (Gerber, Green and Larimer 2008), with the paper's synthetic effect.

Control rows only, treatment drawn by us with probability 0.4. It stands in for the paper's voting data, which is
another trial. The file is not part of the project; the schema is written from the trial's description.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpcate.errors import TableError
from dpcate.experiments.spiked import SpikedStudy, spiked_effect
from dpcate.schema import Category, Number, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GOTV_SCHEMA", "load_gotv", "make_gotv"]

GOTV_SCHEMA = Schema(
    outcome=Number("voted", 0, 1),
    treatment=Category("treated", [0, 1]),
    features=[
        Number("hh_size", 1, 8),
        Number("age", 18, 106),
        Category("sex", ["female", "male"]),
        Number("n_general", 0, 3),
        Number("n_primary", 0, 4),
        *(Category(name, ["no", "yes"]) for name in ("g2000", "g2002", "p2000", "p2002")),
        Category("p2004", ["No", "Yes"]),
    ],
)
TREATED_SHARE = 0.4
TRAINING_SHARE = 2 / 3


def load_gotv(path: str | Path) -> tuple[dict[str, NDArray[Any]], NDArray[np.float64]]:
    """Return the control rows with their outcome before the spike-in, and the effect of each."""
    names = [*GOTV_SCHEMA.feature_names, "voted"]
    try:
        table = pq.read_table(Path(path))
    except (OSError, pa.ArrowException):
        raise TableError(f"GOTV must be a Parquet file that can be read; there is none at {str(path)!r}.") from None
    missing = [name for name in [*names, "treatment"] if name not in table.column_names]
    if missing:
        raise TableError(f"GOTV must have the column {missing[0]!r}; {str(path)!r} has not.")
    control = table.filter(np.char.strip(table["treatment"].to_numpy().astype(str)) == "Control")
    people = {name: control[name].to_numpy() for name in names}
    people["voted"] = _is_yes(people["voted"])
    return people, spiked_effect(_is_yes(people["g2000"]), people["age"])


def make_gotv(path: str | Path) -> SpikedStudy:
    """Return the study; two in three people are for training."""
    people, effect = load_gotv(path)
    return SpikedStudy(
        name="GOTV",
        schema=GOTV_SCHEMA,
        people=people,
        effect=effect,
        n_training=int(len(effect) * TRAINING_SHARE),
        treated_share=TREATED_SHARE,
    )


def _is_yes(values: NDArray[Any]) -> NDArray[np.float64]:
    yes: NDArray[np.float64] = (np.char.lower(values.astype(str)) == "yes").astype(np.float64)
    return yes
