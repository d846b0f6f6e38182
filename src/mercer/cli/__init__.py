"""The command line: fit, predict, evaluate, inspect, compare and export, from files to files."""

from mercer.cli.entry import main

__all__ = ["main"]
