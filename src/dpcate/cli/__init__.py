"""The command line."""

from dpcate.cli.main import main

__all__ = ["main"]
