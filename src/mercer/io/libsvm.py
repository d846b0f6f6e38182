"""Models in LIBSVM's text format, in and out: support vector machines of five kinds.

A file holds support vectors with their coefficients, as many for each as there are other classes,
and the negative intercepts ``rho`` of the pairs of classes in the order of its labels; values of a
pair speak for its first class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.io.errors import CannotConvert, ModelFileError
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid
from mercer.machines.evaluating import dense
from mercer.regularizers.null_space import Constant

__all__ = ["read_libsvm", "write_libsvm"]

KINDS: dict[str, Any] = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM}
KINDS["epsilon_svr"], KINDS["nu_svr"] = SVR, NuSVR
# Kernels of a file: their classes, their names for a machine, and their parameters.
KERNELS: dict[str, Any] = {"linear": (Linear, "linear"), "rbf": (Gaussian, "rbf", "gamma")}
KERNELS["polynomial"] = Polynomial, "poly", "degree", "gamma", "coef0"
KERNELS["sigmoid"] = Sigmoid, "sigmoid", "gamma", "coef0"
NONE = np.zeros(0, dtype=int)


def write_libsvm(model: Any, path: str | Path) -> None:
    """Write a support vector machine as LIBSVM's ``svm_save_model`` does.

    Numbers have 17 digits, which are all of them.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted with the kernel ``"rbf"``, ``"linear"``, ``"poly"`` or ``"sigmoid"``, and with labels
        that are integers.
    path : str or path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import SVR
    >>> path = Path(tempfile.mkdtemp()) / "model.libsvm"
    >>> write_libsvm(SVR(gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]), path)
    >>> path.read_text().split()[:4]
    ['svm_type', 'epsilon_svr', 'kernel_type', 'rbf']
    """
    check_is_fitted(model)
    kinds, name = {cls: kind for kind, cls in KINDS.items()}, type(model).__name__
    if type(model) not in kinds:
        raise CannotConvert(f"{name} is no machine of LIBSVM's; those are {', '.join(KINDS)}.")
    kernel, classes = getattr(model, "kernel_", model.kernel), getattr(model, "classes_", NONE)
    shape = next((key for key, one in KERNELS.items() if isinstance(kernel, one[0])), "")
    gamma = {"gamma": 0.5 / np.square(kernel.length_scale)} if shape == "rbf" else {}
    own = (kernel.get_params() if shape else {}) | gamma
    for refused, words in (
        (model._local or model._functions is not None, "it is local, or of random features"),
        (not shape or np.ndim(own.get("gamma", 0)), f"{kernel} is none of LIBSVM or has no points"),
        (set(model.null_space_names_) - {"1"}, "it has unpenalized functions of the features"),
        (len(classes) > 2 and model._voting, "its approximated pairs share their points"),
        (classes.dtype.kind not in "iu", f"labels of LIBSVM's are integers, not {classes}"),
    ):
        if refused:
            raise CannotConvert(f"{name} cannot be written: {words}.")
    Z, b = dense(model.support_vectors_), getattr(model, "_intercept_", model.intercept_)
    lines = [["svm_type", kinds[type(model)]], ["kernel_type", shape]]
    lines += [[key, f"{own[key]:.17g}"] for key in KERNELS[shape][2:]]
    lines += [["nr_class", str(max(len(classes), 2))], ["total_sv", str(len(Z))]]
    table = [["label", *map(str, classes)], ["nr_sv", *map(str, model._n_support)]]
    lines += [["rho", *(f"{-one:.17g}" for one in b)], *(table if len(classes) else ()), ["SV"]]
    for a, z in zip(dense(model._dual_coef_).T, Z, strict=True):
        cells = [f"{j + 1}:{z[j]:.17g}" for j in np.flatnonzero(z)]
        lines.append([*(f"{one:.17g}" for one in a), *cells])
    Path(path).write_text("\n".join(map(" ".join, lines)) + "\n", encoding="ascii")


def read_libsvm(path: str | Path, *, n_features: int | None = None) -> Any:
    """Read a support vector machine that LIBSVM's ``svm_save_model`` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    n_features : int, optional
        Number of features; by default the largest that a support vector has, since the file does
        not say it.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        The fitted machine; it predicts, but has no certificate of its fit. Probabilities of the
        file are left out.

    Examples
    --------
    >>> import tempfile
    >>> from mercer import SVR
    >>> path = Path(tempfile.mkdtemp()) / "model.libsvm"
    >>> machine = SVR(gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> write_libsvm(machine, path)
    >>> read_libsvm(path).predict([[1.5]]) == machine.predict([[1.5]])
    array([ True])
    """
    try:
        head, body = Path(path).read_text(encoding="ascii").split("\nSV\n")
        header = {key: rest for key, *rest in map(str.split, head.splitlines())}
        return _machine(header, [line.split() for line in body.splitlines()], n_features)
    except (ArithmeticError, LookupError, OSError, ValueError) as e:
        raise ModelFileError(f"{path} is damaged, cannot be read, lacks svm_type or SV: {e}") from e


def _machine(header: dict[str, list[str]], rows: list[list[str]], n_features: int | None) -> Any:
    """Return the machine of a file."""
    kind, shape, k = header["svm_type"][0], header["kernel_type"][0], int(header["nr_class"][0])
    labelled, n = kind.endswith("svc"), len(rows)
    width, pairs = (k - 1, k * (k - 1) // 2) if labelled else (1, 1)
    cells = [(i, *cell.split(":")) for i, row in enumerate(rows) for cell in row[width:]]
    i, j, values = np.array(cells, dtype=np.float64).reshape(-1, 3).T
    coef = np.array([row[:width] for row in rows], dtype=np.float64).reshape(n, width)
    b, p = -np.array(header["rho"], dtype=np.float64), int(np.max(j, initial=1.0))
    given = np.array(header["label"] if labelled else range(k), dtype=np.int64)
    labels, place = np.unique(given, return_inverse=True)
    counts = np.array(header["nr_sv"] if labelled else [n], dtype=np.int32)
    for right, words in (
        (kind in KINDS and shape in KERNELS, f"svm_type {kind!r} or kernel {shape!r} is not known"),
        (int(header["total_sv"][0]) == n == counts.sum(), f"cut off after {n} support vectors"),
        (len(b) == pairs, f"{len(b)} values of rho, where {k} classes have {pairs}"),
        (len(given) == len(labels) == k > 1, f"{k} classes with the labels {given}"),
        (np.all(j >= 1) and not np.any(j % 1), "features count from 1"),
        (p <= (n_features or p), f"feature {p}, more than n_features={n_features}"),
        # A file does not tell how many features there are: four gigabytes of them at most.
        (n * p < 2**29, f"feature {p}, too many for a dense machine"),
        (np.all(np.isfinite([*coef.flat, *values, *b])), "it has numbers that are not finite"),
    ):
        if not right:
            raise ValueError(words)
    cls, name, *names = KERNELS[shape]
    own = {key: (int if key == "degree" else float)(header[key][0]) for key in names}
    machine, Z = KINDS[kind](kernel=name, **own), np.zeros((n, n_features or p))
    Z[i.astype(int), j.astype(int) - 1] = values
    if labelled:  # in ascending order: where it changes, values of a pair change their sign
        order, group = np.argsort(place), np.repeat(np.arange(k), counts)
        rank, upper = np.argsort(place[group], kind="stable"), np.triu_indices(k, 1)
        against, whole, other = np.zeros((n, k)), np.zeros((k, k)), ~np.eye(k, dtype=bool)
        against[other[group]], whole[upper] = coef.ravel(), b
        against *= np.where((place[:, None] < place) == np.triu(other), 1.0, -1.0)[group]
        coef = against[np.ix_(rank, order)][other[place[group[rank]]]].reshape(n, k - 1)
        Z, b, counts = Z[rank], (whole - whole.T)[np.ix_(order, order)][upper], counts[order]
        machine.classes_, machine.class_weight_, machine._intercept_ = labels, np.ones(k), b
    # Of two classes the public signs speak for the second, the private ones for the first.
    sign = -1.0 if labelled and k == 2 else 1.0
    machine.kernel_ = Gaussian(np.sqrt(0.5 / own["gamma"])) if shape == "rbf" else cls(**own)
    machine._sparse, machine._X_fit, machine._kernel_fit = False, None, None
    machine.null_space_, machine.null_space_names_ = Constant(), ["1"]
    machine._tol_fit, machine.n_features_in_, machine.shape_fit_ = machine.tol, Z.shape[1], Z.shape
    machine.support_vectors_, machine.support_ = Z, np.arange(n, dtype=np.int32)
    machine._dual_coef_, machine._n_support = np.ascontiguousarray(coef.T), counts
    machine.dual_coef_, machine.intercept_ = sign * machine._dual_coef_, sign * b
    machine.null_space_coef_ = machine.intercept_[:, None] if labelled else b
    if kind == "one_class":
        machine.offset_ = -b
    return machine
