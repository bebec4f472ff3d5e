"""Saved learners: JSON with released numbers, public facts and the guarantee; never a row, never pickle."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcate.accounting import Guarantee
from dpcate.errors import DocumentError
from dpcate.models import AdditiveFunction
from dpcate.schema import Schema

if TYPE_CHECKING:
    from dpcate.learners.cate import CateLearner

__all__ = ["read_document", "restore", "save_learner"]

FORMAT = "dpcate-model"
VERSION = 1
_PLAIN = (str, int, float, bool, type(None))


def save_learner(learner: CateLearner, path: str | Path) -> None:
    """Write a fitted learner to ``path``."""
    Path(path).write_text(json.dumps(_document(learner), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _document(learner: CateLearner) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "dpcate": version("dpcate"),
        "learner": type(learner).__name__,
        "schema": learner.schema_.to_dict(),
        "options": {
            name: value if isinstance(value, _PLAIN) else repr(value) for name, value in learner.options_.items()
        },
        "models": {name: model.to_dict() for name, model in learner.models_.items()},
        "guarantee": learner.guarantee_.to_dict(),
    }


def read_document(path: str | Path) -> dict[str, Any]:
    """Return a saved learner's document, or raise :class:`DocumentError`."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DocumentError(f"cannot read {str(path)!r}: {error.strerror}.") from None
    except ValueError:
        raise DocumentError(f"{str(path)!r} is not JSON.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DocumentError(f"{str(path)!r} is not a model saved by dpcate.")
    if document.get("version") != VERSION:
        raise DocumentError(
            f"{str(path)!r} has format version {document.get('version')!r}; this dpcate reads {VERSION}."
        )
    return document


def restore(learner: CateLearner, document: dict[str, Any]) -> CateLearner:
    """Give a learner the released models and the guarantee of a saved document."""
    try:
        learner.schema_, learner.options_ = learner.schema, dict(document["options"])
        learner.models_ = {name: AdditiveFunction.from_dict(model) for name, model in document["models"].items()}
        learner.guarantee_ = Guarantee.from_dict(document["guarantee"])
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"the saved model is damaged: {type(error).__name__}.") from None
    return learner


def saved_schema(document: dict[str, Any]) -> Schema:
    """Return the schema of a saved document."""
    return Schema.from_dict(document["schema"])
