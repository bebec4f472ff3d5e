"""The public description of a table: its columns, their bounds and levels, and the treatment arms.

Everything here is written down by a person who has not looked at the rows. Nothing in this package can read a table.
"""

from dpcate.schema.columns import Category, Feature, Number
from dpcate.schema.document import column_from_dict, column_to_dict
from dpcate.schema.levels import LevelMatcher
from dpcate.schema.schema import Schema
from dpcate.schema.values import Level, number_from_text, number_from_value

__all__ = [
    "Category",
    "Feature",
    "Level",
    "LevelMatcher",
    "Number",
    "Schema",
    "column_from_dict",
    "column_to_dict",
    "number_from_text",
    "number_from_value",
]
