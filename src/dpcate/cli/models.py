"""Saved models on the command line: a file, or the folder of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpcate.learners import load

if TYPE_CHECKING:
    from dpcate.learners import CateLearner

__all__ = ["load_model"]

MODEL_FILE = "model.json"


def load_model(path: str | Path) -> CateLearner:
    """Return the learner saved at ``path``: a file, or a folder with a ``model.json``."""
    path = Path(path)
    return load(path / MODEL_FILE if path.is_dir() else path)
