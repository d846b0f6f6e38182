"""The command line: fit, predict, evaluate, inspect, compare and export, from files to files."""

from mercer_studio.cli.app import main

__all__ = ["main"]
