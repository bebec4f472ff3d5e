"""``load``: from a saved file back to a learner that predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcate.errors import DocumentError
from dpcate.learners.average import AverageEffect
from dpcate.learners.documents import read_document, restore, saved_schema
from dpcate.learners.dr import DRLearner
from dpcate.learners.multistage import MultiStage
from dpcate.learners.r import RLearner
from dpcate.learners.s import SLearner

if TYPE_CHECKING:
    from pathlib import Path

    from dpcate.learners.cate import CateLearner

__all__ = ["load"]

_LEARNERS: dict[str, type[CateLearner]] = {
    kind.__name__: kind for kind in (AverageEffect, DRLearner, RLearner, SLearner)
}


def load(path: str | Path) -> CateLearner:
    """Return a saved learner: it predicts exactly as the one that was saved.

    A saved :class:`MultiStage` comes back without its stages (functions are not saved): it predicts, but cannot be
    fitted again.
    """
    document = read_document(path)
    name, schema, options = document.get("learner"), saved_schema(document), dict(document.get("options", {}))
    if name == MultiStage.__name__:
        return restore(MultiStage(schema, (), **options), document)
    if name not in _LEARNERS:
        raise DocumentError(f"the saved learner {name!r} is not one of {sorted(_LEARNERS)}.")
    return restore(_LEARNERS[name](schema, **options), document)
