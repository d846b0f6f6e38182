"""Models in LIBSVM's text format, in and out: support vector machines of five kinds.

A file holds support vectors with their coefficients, as many for each as there are other classes,
and the negative intercepts ``rho`` of the pairs of classes in the order of its labels; values of a
pair speak for its first class.
"""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import AnyArray, Array
from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.io.errors import CannotConvert, ModelFileError
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.gaussian import Gaussian
from mercer.machines.base import KernelMachine
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.regularizers.null_space import Constant

__all__ = ["read_libsvm", "write_libsvm"]


KINDS: dict[str, type[Any]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
# Memory that the support vectors of a file may take, as they do not tell their number of features.
MAX_DENSE_BYTES = 2.0**32


def write_libsvm(model: Any, path: str | os.PathLike[str]) -> None:
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
    >>> path = os.path.join(tempfile.mkdtemp(), "model.libsvm")
    >>> write_libsvm(SVR(gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]), path)
    >>> Path(path).read_text().split()[:4]
    ['svm_type', 'epsilon_svr', 'kernel_type', 'rbf']
    """
    check_is_fitted(model)
    name = type(model).__name__
    kind = next((kind for kind, cls in KINDS.items() if type(model) is cls), None)
    if kind is None:
        raise CannotConvert(f"{name} is no machine of LIBSVM's; those are {', '.join(KINDS)}.")
    if model._local is not None or model._functions is not None:
        raise CannotConvert(f"a local {name}, or one of random features, is no model of LIBSVM's.")
    if is_function(model.kernel) or is_precomputed(model.kernel):
        raise CannotConvert(f"{name} with a kernel that is a function or a matrix has no points.")
    if set(model.null_space_names_) - {"1"}:
        raise CannotConvert(f"{name} with unpenalized functions of the features is not LIBSVM's.")
    classes = getattr(model, "classes_", None)
    coef = _dense(model._dual_coef_ if classes is not None else model.dual_coef_)
    rho = -np.ravel(model._intercept_ if classes is not None else model.intercept_)
    Z = _dense(model.support_vectors_)
    lines = [f"svm_type {kind}", *_kernel_lines(model.kernel_)]
    lines += [f"nr_class {2 if classes is None else len(classes)}", f"total_sv {len(Z)}"]
    lines += ["rho " + " ".join(map(_number, rho))]
    if classes is not None:
        if model._voting and len(classes) > 2:
            raise CannotConvert(f"pairs of an approximated {name} share their points, not there.")
        if np.asarray(classes).dtype.kind not in "iu":
            raise CannotConvert(f"labels of LIBSVM's are integers, not {classes[0]!r}.")
        lines += ["label " + " ".join(str(int(label)) for label in classes)]
        lines += ["nr_sv " + " ".join(str(int(n)) for n in model._n_support)]
    lines += ["SV", *(_line(a, z) for a, z in zip(coef.T, Z, strict=True))]
    Path(path).write_text("\n".join(lines) + "\n", encoding="ascii")


def read_libsvm(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
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
    >>> path = os.path.join(tempfile.mkdtemp(), "model.libsvm")
    >>> machine = SVR(gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> write_libsvm(machine, path)
    >>> read_libsvm(path).predict([[1.5]]) == machine.predict([[1.5]])
    array([ True])
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{name} cannot be read: {error}.") from error
    head, separator, body = text.partition("\nSV\n")
    if not separator or not head.startswith("svm_type"):
        raise ModelFileError(f"{name} is no model of LIBSVM: it lacks svm_type or SV.")
    header = {key: rest.split() for key, rest in _words(head)}
    try:
        return _machine(header, body.splitlines(), n_features, name)
    except ModelFileError:
        raise
    except (ArithmeticError, ValueError, LookupError) as error:
        raise ModelFileError(f"{name} is a damaged model of LIBSVM: {error}.") from error


def _words(head: str) -> list[tuple[str, str]]:
    pairs = (line.partition(" ") for line in head.splitlines())
    return [(key, rest) for key, _, rest in pairs]


def _dense(points: Any) -> Array:
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)


def _number(value: float | np.floating[Any]) -> str:
    return f"{float(value):.17g}"


def _line(a: Array, z: Array) -> str:
    cells = [f"{j + 1}:{_number(z[j])}" for j in np.flatnonzero(z)]
    return " ".join([*map(_number, a), *cells])


# Kernels -----------------------------------------------------------------------------------------


def _kernel_lines(kernel: Kernel) -> list[str]:
    if isinstance(kernel, Gaussian) and np.ndim(kernel.length_scale) == 0:
        width = float(np.asarray(kernel.length_scale))
        return ["kernel_type rbf", f"gamma {_number(0.5 / width**2)}"]
    if isinstance(kernel, Linear):
        return ["kernel_type linear"]
    if isinstance(kernel, Polynomial | Sigmoid):
        affine = [f"gamma {_number(kernel.gamma)}", f"coef0 {_number(kernel.coef0)}"]
        if isinstance(kernel, Sigmoid):
            return ["kernel_type sigmoid", *affine]
        return ["kernel_type polynomial", f"degree {int(kernel.degree)}", *affine]
    raise CannotConvert(f"the kernel {kernel!r} is none of LIBSVM's.")


def _kernel(header: dict[str, list[str]]) -> tuple[Kernel, dict[str, Any]]:
    """Return the kernel of a file, and the parameters that a machine has for it."""
    kind = header["kernel_type"][0]
    gamma, coef0 = (float(header.get(key, ["0"])[0]) for key in ("gamma", "coef0"))
    if kind == "rbf":
        return Gaussian(np.sqrt(0.5 / gamma)), {"kernel": "rbf", "gamma": gamma}
    if kind == "linear":
        return Linear(), {"kernel": "linear"}
    own = {"gamma": gamma, "coef0": coef0}
    if kind == "polynomial":
        degree = int(header["degree"][0])
        settings = {"kernel": "poly", "degree": degree} | own
        return Polynomial(degree=degree, gamma=gamma, coef0=coef0), settings
    if kind == "sigmoid":
        return Sigmoid(gamma=gamma, coef0=coef0), {"kernel": "sigmoid"} | own
    raise ModelFileError(f"the kernel {kind!r} of LIBSVM has no support vectors to read.")


# Machines ----------------------------------------------------------------------------------------


def _machine(
    header: dict[str, list[str]], lines: list[str], n_features: int | None, name: str
) -> Any:
    kind = header["svm_type"][0]
    if kind not in KINDS:
        raise ModelFileError(f"{name} has svm_type {kind!r}; known are {', '.join(KINDS)}.")
    kernel, settings = _kernel(header)
    labelled = kind.endswith("svc")
    k = int(header["nr_class"][0])
    width = k - 1 if labelled else 1
    if k < 2 or int(header["total_sv"][0]) != len(lines):
        raise ModelFileError(
            f"{name} is cut off: it has {len(lines)} of {header['total_sv'][0]} support vectors."
        )
    coef, Z = _points(lines, width, n_features, name)
    rho = np.array(header["rho"], dtype=np.float64)
    if len(rho) != (k * (k - 1) // 2 if labelled else 1) or not np.all(np.isfinite(rho)):
        raise ModelFileError(f"{name} has {len(rho)} values of rho for {k} classes.")
    machine = KINDS[kind](**settings)
    machine.kernel_, machine.n_features_in_ = kernel, Z.shape[1]
    machine.shape_fit_ = Z.shape
    machine._sparse, machine._X_fit, machine._kernel_fit = False, None, None
    machine.null_space_, machine.null_space_names_ = Constant(), ["1"]
    machine._tol_fit = float(machine.tol)
    if not labelled:
        return _keep(machine, Z, coef.T, -rho, np.array([len(Z)]))
    labels, counts = (np.array(header[key], dtype=np.int64) for key in ("label", "nr_sv"))
    if len(labels) != k or len(set(labels.tolist())) != k or counts.sum() != len(Z):
        raise ModelFileError(f"{name} has {len(labels)} labels and {counts.sum()} support vectors.")
    return _classifier(machine, Z, coef, -rho, labels, counts)


def _points(lines: list[str], width: int, n_features: int | None, name: str) -> tuple[Array, Array]:
    """Return coefficients (n, width) and support vectors (n, p)."""
    rows = [line.split() for line in lines]
    coef = np.array([row[:width] for row in rows], dtype=np.float64).reshape(len(rows), width)
    cells = [[cell.split(":") for cell in row[width:]] for row in rows]
    p = max((int(j) for row in cells for j, _ in row), default=0)
    if n_features is not None and n_features < p:
        raise ModelFileError(f"{name} has a feature {p}, more than n_features={n_features}.")
    p = max(p, 1) if n_features is None else n_features
    if 8.0 * len(rows) * p > MAX_DENSE_BYTES:
        raise ModelFileError(f"{name} has a feature {p}, too many for a dense machine.")
    Z = np.zeros((len(rows), p))
    for i, row in enumerate(cells):
        for j, value in row:
            if int(j) < 1:
                raise ModelFileError(f"{name} has a feature {j}; features count from 1.")
            Z[i, int(j) - 1] = float(value)
    if not (np.all(np.isfinite(Z)) and np.all(np.isfinite(coef))):
        raise ModelFileError(f"{name} has numbers that are not finite.")
    return coef, Z


def _keep(machine: KernelMachine, Z: Array, coef: Array, b: Array, counts: AnyArray) -> Any:
    machine.support_vectors_, machine.support_ = Z, np.arange(len(Z), dtype=np.int32)
    machine.dual_coef_ = machine._dual_coef_ = np.ascontiguousarray(coef)
    machine.intercept_, machine._n_support = b, counts.astype(np.int32)
    machine.null_space_coef_ = b
    if isinstance(machine, OneClassSVM):
        machine.offset_ = -b
    return machine


def _classifier(
    machine: KernelMachine,
    Z: Array,
    coef: Array,
    b: Array,
    labels: AnyArray,
    counts: AnyArray,
) -> Any:
    """Put classes in ascending order; of a pair whose order changes, coefficients change sign."""
    k, order = len(labels), np.argsort(labels)
    place = np.argsort(order)  # where a class of the file goes
    group = np.repeat(np.arange(k), counts)
    pairs = {pair: d for d, pair in enumerate(combinations(range(k), 2))}
    new, intercept = np.zeros_like(coef), np.zeros_like(b)
    for (i, j), d in pairs.items():
        first, second = int(place[i]), int(place[j])
        sign = 1.0 if first < second else -1.0
        low, high = min(first, second), max(first, second)
        intercept[pairs[low, high]] = sign * b[d]
        for c, column in ((i, j - 1), (j, i)):
            rows = group == c
            other = high if place[c] == low else low
            new[rows, other - (other > place[c])] = sign * coef[rows, column]
    rows = np.argsort(place[group], kind="stable")
    sign = -1.0 if k == 2 else 1.0
    machine.classes_, machine.class_weight_ = labels[order], np.ones(k)
    _keep(machine, Z[rows], sign * new[rows].T, sign * intercept, counts[order])
    # Of two classes the public signs speak for the second, the private ones for the first.
    machine._dual_coef_, machine._intercept_ = sign * machine.dual_coef_, intercept
    machine.null_space_coef_ = machine.intercept_[:, None]
    return machine
