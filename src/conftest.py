"""Leave the examples of a module aside where the package that it stands on is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["mercer/reduced/tensors.py"]
