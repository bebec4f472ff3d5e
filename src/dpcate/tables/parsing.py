"""The numbers and the level codes of a chunk of values.

Every function here gives entry ``i`` from entry ``i`` alone, by the rules in `dpcate.schema.values`; the vectorised
paths are faster ways to the same results, and a test holds them to it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpcate.schema import LevelMatcher, number_from_text, number_from_value

if TYPE_CHECKING:
    from dpcate.tables.columns import Chunk

__all__ = ["chunk_level_codes", "chunk_numbers"]

# Texts that Arrow certainly reads as Python does: no blanks, no sign but minus, no exponent that could overflow.
_PLAIN_DECIMAL = r"^-?[0-9]{1,17}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$"


def chunk_numbers(chunk: Chunk) -> npt.NDArray[np.float64]:
    """Return the number of each entry, NaN where there is none.

    Privacy
    -------
    Releases nothing; entry by entry. See `docs/privacy/public_private_line.md`.
    """
    if not isinstance(chunk, np.ndarray):
        return _numbers_of_texts(chunk)
    if chunk.dtype == object:
        return np.fromiter((number_from_value(value) for value in chunk), dtype=np.float64, count=len(chunk))
    return chunk.astype(np.float64, copy=False)


def chunk_level_codes(chunk: Chunk, matcher: LevelMatcher) -> npt.NDArray[np.uint16]:
    """Return the level code of each entry, 0 for "other".

    Privacy
    -------
    Releases nothing; entry by entry. See `docs/privacy/public_private_line.md`.
    """
    if not isinstance(chunk, np.ndarray):
        return _codes_of_texts(chunk, matcher)
    if chunk.dtype == object:
        return np.fromiter((matcher.code(value) for value in chunk), dtype=np.uint16, count=len(chunk))
    if chunk.dtype == np.bool_:
        return np.array(matcher.by_truth, dtype=np.uint16)[chunk.astype(np.intp)]
    return _codes_of_numbers(chunk, matcher)


def _numbers_of_texts(texts: pa.LargeBinaryArray) -> npt.NDArray[np.float64]:
    plain = pc.match_substring_regex(texts, _PLAIN_DECIMAL).fill_null(False)
    readable = pc.if_else(plain, texts, pa.scalar(None, texts.type))
    numbers = np.array(readable.cast(pa.large_string()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    rest = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    numbers[rest] = [_number_of_bytes(text) for text in texts.take(pa.array(rest)).to_pylist()]
    return numbers


def _codes_of_texts(texts: pa.LargeBinaryArray, matcher: LevelMatcher) -> npt.NDArray[np.uint16]:
    encoded = texts.dictionary_encode()
    decoded = [_decode(text) for text in encoded.dictionary.to_pylist()]
    codes = np.array([*(0 if text is None else matcher.code_text(text) for text in decoded), 0], dtype=np.uint16)
    indices: npt.NDArray[np.int32] = encoded.indices.fill_null(len(decoded)).to_numpy(zero_copy_only=False)
    return codes[indices]


def _codes_of_numbers(numbers: npt.NDArray[Any], matcher: LevelMatcher) -> npt.NDArray[np.uint16]:
    if not matcher.by_number:
        return np.zeros(len(numbers), dtype=np.uint16)
    levels, codes = zip(*sorted(matcher.by_number.items()), strict=True)
    keys = np.array(levels, dtype=np.float64)
    positions = np.minimum(np.searchsorted(keys, numbers), len(keys) - 1)
    return np.where(keys[positions] == numbers, np.array(codes, dtype=np.uint16)[positions], np.uint16(0))


def _number_of_bytes(raw: bytes | None) -> float:
    text = _decode(raw)
    return math.nan if text is None else number_from_text(text)


def _decode(raw: bytes | None) -> str | None:
    """Return the text of UTF-8 bytes, or None: bytes that are no text are missing, not an error."""
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
