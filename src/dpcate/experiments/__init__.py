"""Simulated studies with a known answer: the paper's setups."""

from dpcate.experiments.setups import SETUP_NAMES, Sample, Setup, make_setup

__all__ = ["SETUP_NAMES", "Sample", "Setup", "make_setup"]
