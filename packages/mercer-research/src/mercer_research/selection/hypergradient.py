r"""How a validation error changes with C and every parameter of the kernel, through the machine.

On the samples F that are free, :math:`K_{F\cdot} a + B_F b + p_F + q_F a_F = 0` and
:math:`B'a = d`; the others are zero or on bounds that grow with C. With
:math:`g = \partial J / \partial f_v` and the adjoint

.. math:: \begin{pmatrix} K_{FF} + Q_F & B_F \\ B_F' & 0 \end{pmatrix}
          \begin{pmatrix} u \\ v \end{pmatrix} =
          \begin{pmatrix} (K_v' g)_F \\ B_v' g \end{pmatrix}

the derivative is
:math:`g' dK_v a - u' dK_{F\cdot} a + \dots`: one linear system for all hyperparameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.machines.base import KernelMachine, unfitted
from mercer.machines.subproblems import prepare
from mercer.solvers import Auto, Solution, minimize
from mercer_research.selection.validation import Validation

__all__ = ["Hypergradient", "hypergradient"]

# Inner problems are solved this well, so that gradients are good to about its root.
TOL = 1e-8


class Hypergradient:
    """Validation error of a machine and its gradient, as a function of log hyperparameters.

    Attributes
    ----------
    names : list of str
        The hyperparameters, ``"C"`` and those of the kernel.
    start : (p,) array
        Logarithms of the machine's own.
    """

    def __init__(
        self,
        estimator: KernelMachine,
        X: PointsLike,
        y: TargetsLike,
        X_val: PointsLike,
        y_val: TargetsLike,
        loss: str,
        names: list[str],
    ) -> None:
        self.estimator, self.X, self.y = clone(estimator), X, y
        self.X_val, self.y_val, self.loss, self.names = X_val, y_val, loss, names
        params = self.estimator.get_params()
        self.start = np.log([float(params[name]) for name in names])

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Return the error and its gradient at log hyperparameters."""
        machine, risk, checked, new, validation = self._problem(theta)
        solution = self._solve(risk)
        a, b = solution.a, solution.b
        f = validation.predict(a, b)
        g = validation.gradient(f)
        free, curvature = _free(risk, a)
        on = (a != 0) & ~free
        F, q = np.flatnonzero(free), risk.q
        K = risk.K.dense()
        M = np.zeros((len(F) + q, len(F) + q))
        M[: len(F), : len(F)] = K[np.ix_(F, F)] + np.diag(curvature[F])
        M[: len(F), len(F) :], M[len(F) :, : len(F)] = risk.B[F], risk.B[F].T
        pull = validation.K.T @ g
        right = np.concatenate([pull[F], validation.columns[:, :q].T @ g])
        uv = np.linalg.lstsq(M, right, rcond=None)[0]
        u = np.zeros(risk.n)
        u[F] = uv[: len(F)]
        v = uv[len(F) :]
        # log C: bounds move in proportion, curvatures fall in proportion.
        moved = np.where(on, a, 0.0)
        gradient = {
            "C": float(pull @ moved - u @ (K @ moved) - v @ (risk.B.T @ moved))
            + float(u[F] @ (curvature[F] * a[F]))
        }
        for name in self.names:
            if name != "C":
                short = name.removeprefix("kernel__")
                by_v = machine.kernel_.gradient(new, checked)[short]
                by = machine.kernel_.gradient(checked)[short]
                value = getattr(machine.kernel_, short)
                gradient[name] = float(value) * float(g @ by_v @ a - u @ by @ a)
        return validation.value(f), np.array([gradient[name] for name in self.names])

    def coefficients(self, theta: Array) -> tuple[Array, Array]:
        """Return the machine at log hyperparameters."""
        _, risk, _, _, _ = self._problem(theta)
        solution = self._solve(risk)
        return solution.a, solution.b

    def _solve(self, risk: Any) -> Solution:
        return minimize(risk, Auto(tol=TOL))

    def _problem(self, theta: Array) -> tuple[Any, Any, Any, Any, Validation]:
        values = dict(zip(self.names, np.exp(np.asarray(theta)).tolist(), strict=True))
        estimator = clone(self.estimator).set_params(**values)
        prepared = prepare(unfitted(estimator), self.X, self.y)
        machine, risks, checked = prepared.machine, prepared.risks, prepared.sample.X
        if len(risks) != 1:
            raise ValueError(
                "several classes or outputs have a gradient each: pass a single class or output"
            )
        new = machine._check_X(self.X_val, reset=False)
        target = np.asarray(self.y_val)
        if hasattr(machine, "classes_"):
            target = np.where(target == machine.classes_[1], 1.0, -1.0)
        K = np.asarray(machine.kernel_(new, checked))
        validation = Validation(K, target.astype(np.float64), machine.null_space_(new), self.loss)
        return machine, risks[0], checked, new, validation


def hypergradient(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    X_val: PointsLike,
    y_val: TargetsLike,
    *,
    loss: str = "squared",
    names: list[str] | None = None,
) -> Hypergradient:
    r"""Return the validation error of a machine as a function of its hyperparameters.

    Minimize it with ``scipy.optimize.minimize(function, function.start, jac=True)``.

    Parameters
    ----------
    estimator : KernelMachine
        The machine, with a kernel object, where to start from.
    X, y, X_val, y_val : array-like
        Training and validation sample.
    loss : str, default="squared"
        The name of a loss, which has slopes: ``"squared"``, ``"absolute"``, ``"hinge"``,
        ``"logistic"``, ...
    names : list of str, optional
        Hyperparameters, positive numbers; by default C and those of the kernel.

    Returns
    -------
    Hypergradient
        A function of log hyperparameters that returns error and gradient.

    References
    ----------
    Y. Bengio, Gradient-based optimization of hyperparameters, Neural Computation 12 (2000);
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 2.4.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.selection.hypergradient import hypergradient
    >>> from scipy.optimize import minimize
    >>> X = np.random.default_rng(0).uniform(0, 6, size=(80, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> error = hypergradient(SVR(kernel=Gaussian(2.0)), X[:50], y[:50], X[50:], y[50:])
    >>> found = minimize(error, error.start, jac=True)
    >>> bool(found.fun < 0.1 * error(error.start)[0])
    True
    """
    if loss == "error":
        raise ValueError("the share of errors has no slope; use 'hinge' or 'logistic'")
    if names is None:
        params = estimator.get_params()
        names = ["C"] + [
            key
            for key, value in params.items()
            if key.startswith("kernel__") and isinstance(value, float)
        ]
    return Hypergradient(estimator, X, y, X_val, y_val, loss, names)


def _free(risk: Any, a: Array) -> tuple[Any, Array]:
    """Return which coefficients are inside a parabola of the dual, and its curvature."""
    lower, upper = risk.box()
    inside = (a > lower) & (a < upper)
    y, c = risk.y, np.where(risk.c > 0, risk.c, 1.0)
    curvature = risk.loss.conjugate_curvature(y, -a / c) / c
    # At zero a kink holds what is there; a loss without one lets it through.
    slope = np.abs(
        risk.loss.conjugate_gradient(y, np.full_like(a, 1e-9))
        - risk.loss.conjugate_gradient(y, np.full_like(a, -1e-9))
    )
    held = (a == 0) & (slope > 1e-6)
    return inside & ~held & (risk.c > 0), np.where(np.isfinite(curvature), curvature, 0.0)
