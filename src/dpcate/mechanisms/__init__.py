"""The only place that draws privacy noise: exact integer statistics plus discrete Gaussian integers."""

from dpcate.mechanisms.cell_sums import CellSums, CellTotals
from dpcate.mechanisms.coordinates import ENTRY_LIMIT, TableMix, TableProduct
from dpcate.mechanisms.discrete_gaussian import DiscreteGaussian
from dpcate.mechanisms.entries import entries_of
from dpcate.mechanisms.grid import LIMIT, scalars_to_grid, vectors_to_grid
from dpcate.mechanisms.histogram import HistogramRelease
from dpcate.mechanisms.moments import MomentNoise, MomentRelease
from dpcate.mechanisms.noise import InjectedNoise, NoiseSource, SeededNoise, SystemNoise, make_noise
from dpcate.mechanisms.repeated_sum import RepeatedSum, SumSession
from dpcate.mechanisms.table_rows import ROW_LIMIT, RowBatch, TableRows
from dpcate.mechanisms.vector_sum import VectorSum

__all__ = [
    "ENTRY_LIMIT",
    "LIMIT",
    "ROW_LIMIT",
    "CellSums",
    "CellTotals",
    "DiscreteGaussian",
    "HistogramRelease",
    "InjectedNoise",
    "MomentNoise",
    "MomentRelease",
    "NoiseSource",
    "RepeatedSum",
    "RowBatch",
    "SeededNoise",
    "SumSession",
    "SystemNoise",
    "TableMix",
    "TableProduct",
    "TableRows",
    "VectorSum",
    "entries_of",
    "make_noise",
    "scalars_to_grid",
    "vectors_to_grid",
]
