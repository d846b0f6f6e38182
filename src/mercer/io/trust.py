"""Which types a file may name: classes of this library that only compute.

Those of ``mercer-research`` are trusted where that distribution is installed.

To trust a class is to let whoever wrote a file choose its attributes. So classes that open files,
import modules or call other machines are left out, and no function is trusted at all.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mercer._version import PACKAGES

__all__ = ["is_trusted", "trusted_types"]

# Rooms that read and write files, fetch, schedule or draw, wherever they are; private modules
# beside the rooms, one of which imports whatever it is asked for, have no room.
CLOSED = frozenset({"data", "datasets", "distributed", "plotting", "io"})
# Plain values of neighbours that fitted machines hold, which skops does not trust by itself. Sparse
# arrays are read from their three arrays, whose indices are checked before; nodes of trees are
# checked before the model is handed out.
SPLITTERS = (
    *("KFold", "StratifiedKFold", "GroupKFold", "TimeSeriesSplit", "LeaveOneOut"),
    *("ShuffleSplit", "StratifiedShuffleSplit"),
)
NEIGHBOURS = (
    "numpy.dtype",
    *(
        f"scipy.sparse._{kind}.{kind}_{form}"
        for kind in ("csr", "csc")
        for form in ("array", "matrix")
    ),
    *("sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration"),
    *("sklearn.metrics._scorer._PassthroughScorer",),
    *("sklearn.tree._tree.Tree",),
    *("sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",),
    # A list of columns with a flag, of releases before 1.8.
    *("sklearn.compose._column_transformer._RemainderColsList",),
    *(f"sklearn.model_selection._split.{name}" for name in SPLITTERS),
)
CLOSED_MODULES = frozenset({"reduced.checkpoint"})


def trusted_types() -> list[str]:
    """Return the names of the types that :func:`load` trusts beside those of skops.

    They are the classes of this library's rooms, and of those of the distribution
    ``mercer-research`` where it is installed, except of rooms and modules that read files,
    import modules or call other machines, and a few plain values of NumPy, SciPy and scikit-learn:
    types of numbers, sparse arrays, splitters, sigmoids, nodes of trees. skops itself trusts
    numbers and arrays of NumPy, and estimators of scikit-learn.

    Returns
    -------
    list of str
        As ``skops.io.load`` takes them.

    Examples
    --------
    >>> names = trusted_types()
    >>> "mercer.estimators.svr.SVR" in names, "mercer.data.array_files.NpyArray" in names
    (True, False)
    """
    return list(NEIGHBOURS) + [
        f"{package}.{module}.{name}"
        for package in PACKAGES
        for module in _modules(package)
        if _open(module)
        for name in _classes(package, module)
    ]


def is_trusted(name: str) -> bool:
    """Return whether a type is one of :func:`trusted_types`, reading only its module.

    Parameters
    ----------
    name : str
        The type with its module.

    Examples
    --------
    >>> is_trusted("mercer.kernels.gaussian.Gaussian"), is_trusted("mercer._lazily.Later")
    (True, False)
    """
    package, _, rest = name.partition(".")
    module, _, cls = rest.rpartition(".")
    ours = package in PACKAGES and _open(module) and cls in _classes(package, module)
    return ours or name in NEIGHBOURS


def _open(module: str) -> bool:
    words = module.split(".")
    return (
        all(word.isidentifier() for word in words)
        and not module.startswith("_")
        and CLOSED.isdisjoint(words)
        and module not in CLOSED_MODULES
    )


def _folder(package: str) -> Path | None:
    """Return the folder of a package, which is not imported, or None if it is not installed."""
    found = find_spec(package)
    return Path(found.origin).parent if found and found.origin else None


def _modules(package: str) -> list[str]:
    """Return the modules in the rooms of a package, named without it."""
    if (folder := _folder(package)) is None:
        return []
    paths = (path for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py")
    return [".".join(path.relative_to(folder).with_suffix("").parts) for path in paths]


@cache
def _classes(package: str, module: str) -> tuple[str, ...]:
    """Return the classes that a module defines, from its text: nothing is imported for a file."""
    folder = _folder(package)
    path = folder and folder.joinpath(*module.split(".")).with_suffix(".py")
    if path is None or not path.is_file():
        return ()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return tuple(node.name for node in body if isinstance(node, ast.ClassDef))
