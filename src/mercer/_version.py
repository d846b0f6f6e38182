"""The version of the package, written here and nowhere else."""

__version__ = "0.1.0.dev0"
