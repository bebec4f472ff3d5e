"""Measurements of speed and accuracy: one file per question, results in ``benchmarks/results``."""
