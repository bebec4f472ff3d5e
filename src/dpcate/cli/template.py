"""The text of a schema that waits to be filled in.

It holds names and kinds, and says where bounds and levels have to come from. What a type fixes by itself (a truth
value is false or true) is filled in; nothing else is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tomli_w

from dpcate.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcate.cli.header import ColumnHead

__all__ = ["schema_template"]

_TOP = """\
# Public facts about the columns. Everything in this file will be published.
#
# Fill in what is missing from a codebook, the law or common sense. NEVER LOOK IT UP IN THE TABLE: a minimum or a list
# of values that was read off the rows gives rows away, and no noise can take that back.
#
# Then:  dpcate check THIS_FILE     says what is still missing.

# If the study's design fixed the probability of the second arm (a randomised trial), say so:
# propensity = 0.5
"""
_OUTCOME = """\
# What was measured after the treatment: a number. For yes or no write low = 0 and high = 1.
# The wider the bounds, the more noise; values outside are clamped.
"""
_TREATMENT = """\
# Two arms, control first, e.g. levels = [0, 1]. Rows of other arms are left out.
"""
_FEATURES = """\
# What was known of a person before the treatment. Delete every column that should not be used, identifiers above all.
# Numbers that are codes are a category: give them levels instead of low and high. Other values become "other".
"""
_LEFT_OUT = """\
# Left out, because of their type:
"""
_BOUNDS = """\
# low =                # smallest value that can occur
# high =               # largest value that can occur
"""
_LEVELS = """\
# levels = ["", ""]    # every value that can occur
"""
_EITHER = """\
# low =                # if it is a number: smallest value that can occur
# high =               #                    largest value that can occur
# levels = ["", ""]    # if it is a category: every value that can occur
"""
_WHICH = """\
name = ""              # which column? Delete its block below.
"""
_TRUTHS = "levels = [false, true]\n"
_IDENTIFIER = re.compile(r"(^|_)(id|uuid|guid|ssn|name|email|mail|phone|address|iban)$", re.IGNORECASE)


def schema_template(heads: Sequence[ColumnHead], *, outcome: str | None, treatment: str | None) -> str:
    """Return a schema in TOML with names and kinds, and comments that say what to fill in.

    Parameters
    ----------
    heads
        The table's columns.
    outcome, treatment
        Which of them these are; None leaves the choice open.
    """
    by_name = {head.name: head for head in heads}
    for option, name in (("outcome", outcome), ("treatment", treatment)):
        if name is not None and name not in by_name:
            raise ParameterError(f"--{option} must name a column of the table; there is no {name!r}.")
    if outcome is not None and outcome == treatment:
        raise ParameterError(f"--outcome and --treatment must be two columns; got {outcome!r} for both.")
    rest = [head for head in heads if head.name not in (outcome, treatment)]
    left_out = [head for head in rest if head.kind == "other"]
    parts = [
        _TOP,
        "[outcome]\n" + _OUTCOME + _named(outcome) + _bounds(by_name.get(outcome or "")),
        "[treatment]\n" + _TREATMENT + _named(treatment) + _arms(by_name.get(treatment or "")),
        _FEATURES.rstrip("\n"),
        *(_feature(head) for head in rest if head.kind != "other"),
    ]
    if left_out:
        parts.append(_LEFT_OUT + "".join(f"#   {_one_line(head.name)} ({head.stored})\n" for head in left_out))
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _named(name: str | None) -> str:
    return _WHICH if name is None else tomli_w.dumps({"name": name})


def _bounds(head: ColumnHead | None) -> str:
    return "low = 0\nhigh = 1\n" if head is not None and head.kind == "truth" else _BOUNDS


def _arms(head: ColumnHead | None) -> str:
    return _TRUTHS if head is not None and head.kind == "truth" else "# levels =\n"


def _feature(head: ColumnHead) -> str:
    body = {"number": _BOUNDS, "text": _LEVELS, "truth": _TRUTHS, None: _EITHER}[head.kind]
    hint = "# It looks like an identifier: delete this block.\n" if _IDENTIFIER.search(head.name) else ""
    return "[[features]]\n" + hint + tomli_w.dumps({"name": head.name}) + body


def _one_line(name: str) -> str:
    return " ".join(name.split())
