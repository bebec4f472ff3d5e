"""The paper's voting data: a get-out-the-vote trial by telephone (Arceneaux, Gerber and Green 2006).

The file is not part of the project and cannot be fetched by it: a user's own copy is recognised by its git blob id, so
that nobody takes the figures of another file for the paper's. The schema's bounds are wide guesses from the trial's
description (district and county numbers of Iowa and Michigan), written without the file at hand.
"""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv

from dpcate.errors import TableError
from dpcate.experiments.spiked import SpikedStudy, spiked_effect
from dpcate.schema import Category, Number, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VOTING_BLOB", "VOTING_SCHEMA", "git_blob_id", "make_voting"]

VOTING_BLOB = "a1b4db2af830b9254debb269a94b0989017b0e19"
"""Git's name of the file's content."""

N_TRAINING = 100_000
VOTING_SCHEMA = Schema(
    outcome=Number("Y", 0, 1),
    treatment=Category("W", [0, 1]),
    features=[
        Number("persons", 1, 4),
        Category("state", [0, 1]),
        Number("county", 0, 200),
        Number("competiv", 0, 2),
        Number("st_sen", 0, 60),
        Number("st_hse", 0, 120),
        *(Category(name, [0, 1]) for name in ("newreg", "vote98", "vote00")),
        Number("age", 18, 110),
        Category("female", [0, 1]),
    ],
)


def git_blob_id(content: bytes) -> str:
    """Return the name that git gives to a file of this content.

    Examples
    --------
    >>> git_blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def make_voting(path: str | Path) -> SpikedStudy:
    """Return the study from a user's copy of the file: treatment as it was, 100,000 people for training."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        raise TableError(f"the voting data must be a file that can be read; there is none at {str(path)!r}.") from None
    if git_blob_id(content) != VOTING_BLOB:
        raise TableError(
            f"the voting data must be the paper's file, whose git blob id is {VOTING_BLOB}; {str(path)!r} is another "
            "(`git hash-object FILE` prints a file's id)."
        )
    people = _columns(content)
    return SpikedStudy(
        name="voting",
        schema=VOTING_SCHEMA,
        people=people,
        effect=spiked_effect(people["vote00"], people["age"]),
        n_training=N_TRAINING,
    )


def _columns(content: bytes) -> dict[str, NDArray[np.float64]]:
    columns = [*VOTING_SCHEMA.features, VOTING_SCHEMA.treatment, VOTING_SCHEMA.outcome]
    types = {column.name: pa.float64() for column in columns}
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            convert_options=pyarrow.csv.ConvertOptions(include_columns=list(types), column_types=types),
        )
    except (pa.ArrowException, KeyError):
        raise TableError(f"the voting data must be CSV with the columns {', '.join(types)}.") from None
    people = {name: table[name].to_numpy() for name in types}
    for column in columns:
        if isinstance(column, Category):  # levels are written 0 and 1
            people[column.name] = people[column.name].astype(np.int64)
    return people
