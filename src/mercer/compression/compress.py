"""The door: a fitted machine in, one with fewer support vectors and a certificate out."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from mercer._typing import PointsLike, Predictor
from mercer.compression._machines import View, expanded, view
from mercer.compression.certificate import Compression
from mercer.compression.expansions import KernelFunctions, Terms
from mercer.compression.preimage import search
from mercer.compression.pursuit import Pursuit, projected
from mercer.compression.worst_points import (
    SLACK,
    Shared,
    Worst,
    as_rows,
    worst_of,
    worst_points,
)
from mercer.data.base import Source
from mercer.data.opening import as_source
from mercer.data.sampling import draw
from mercer.kernels.points import Array, count, take

__all__ = ["compress"]

MAX_WATCHED_POINTS = 1000
"""Points at which a pursuit follows the difference; the others are looked at when it is done."""

Machine = TypeVar("Machine")


def compress(
    machine: Machine,
    X: PointsLike = None,
    *,
    n_centres: int | None = None,
    error: float | None = None,
    method: str = "greedy",
    centres: Any = None,
    refit_null_space: bool = False,
    n_jobs: int | None = None,
    **options: Any,
) -> Machine:
    r"""Return a machine with fewer support vectors that predicts nearly the same.

    The function :math:`f = \sum_i a_i k(x_i, \cdot)` of a fitted machine is replaced by
    :math:`f_m` with m terms, what is unpenalized is kept, and the distance of the two is
    measured,

    .. math:: \|f - f_m\|^2 = d'Kd, \qquad |f(x) - f_m(x)| \le \sqrt{k(x, x)} \, \|f - f_m\|,

    with the coefficients d of the difference. Prediction takes m kernel values a point instead of
    one for every support vector.

    Parameters
    ----------
    machine : fitted machine, or Pipeline that ends in one
        Any of :mod:`mercer.estimators` whose prediction is an expansion in a kernel, also one that
        tuned itself. It is not changed.
    X : array-like, Source or data frame, optional
        Points where the change of values is measured and `error` has to hold; the support
        vectors by default. For a machine fitted on a kernel matrix, that matrix; for one of a
        plain function nothing, the points are those of its sample.
    n_centres : int, optional
        Largest number of terms.
    error : float, optional
        Largest change of a value of the function. It holds at `X` if that is given, and else
        everywhere, by the bound. Without `n_centres` and `error` it is the tolerance of the fit.
    method : {"greedy", "projection", "preimage"}, default="greedy"
        ``"greedy"``: support vectors by orthogonal matching pursuit, see :func:`matching_pursuit`.
        ``"preimage"``: new points, see :func:`preimages`: the fewest, and they take longest to
        find. ``"projection"``: the points `centres`, with the nearest weights. The package
        mercer-research adds ``"stratified"`` and ``"sup"``, whose numbers of terms are known in
        advance.
    centres : array-like of shape (m, n_features), optional
        For ``"projection"``.
    refit_null_space : bool, default=False
        Fit what is unpenalized anew, to the values at `X` (an array) or the support vectors. The
        bound then holds there only.
    n_jobs : int, optional
        Threads that read a source.
    **options
        Of the method: ``polish=100`` of ``"preimage"``, as in :func:`preimages`.

    Returns
    -------
    machine
        A fitted copy of the same class with other ``support_``, ``support_vectors_``,
        ``dual_coef_`` and ``n_support_``. ``compression_`` is the certificate, a
        :class:`Compression`. ``support_`` is -1 at new points; ``solution_`` is that of the fit.

    Notes
    -----
    Several outputs, classes or pairs of classes share their centres. A vote of pairs of classes
    keeps, as scikit-learn lays it out, terms of both classes of a pair. A kernel that is
    only conditionally positive definite keeps as many support vectors as it has free
    polynomials, so that coefficients stay orthogonal to these, and its functions agree with the
    old ones there; the bound holds where its values were looked at.

    What a least-squares machine tells of its sample (residuals left out, intervals) is not
    carried over. An :class:`~mercer.LSSVC` whose probabilities were asked for before keeps these.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 2.1.2 on reduced sets, and eq. (9.3)
    and (9.4); C. J. C. Burges, *Simplified support vector decision rules*, ICML 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.compression import compress
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> machine = LSSVR(C=10.0, gamma=1.0).fit(X, np.sinc(X[:, 0]))
    >>> small = compress(machine, X, error=1e-3)
    >>> small.n_support_ < 20, np.abs(small.predict(X) - machine.predict(X)).max() <= 1e-3
    (array([ True]), np.True_)
    >>> compress(machine, n_centres=8).compression_
    200 terms became 8 (greedy)
      distance    0.18...
      values      changed by 0.05... at most at 200 points
      bound       0.18... everywhere
    """
    if method not in METHODS:
        raise ValueError(
            f"method must be one of {', '.join(METHODS)}, got {method!r}; importing the module "
            "compression of the package mercer-research adds stratified and sup."
        )
    how = {k: v for k, v in locals().items() if k not in ("machine", "X", "options")}
    if isinstance(machine, Pipeline):
        return _last_of(machine, X, how | options)  # type: ignore[no-any-return]
    if (inner := getattr(machine, "machine_", None)) is not None:
        outer = copy.copy(machine)
        outer.machine_ = compress(inner, X, **how, **options)  # type: ignore[attr-defined]
        outer.compression_ = outer.machine_.compression_  # type: ignore[attr-defined]
        return outer
    seen = view(machine, X)
    return Compressor(seen, X, options, **how).run()  # type: ignore[no-any-return]


def _last_of(pipeline: Any, X: PointsLike, how: dict[str, Any]) -> Any:
    """Compress the last step of a pipeline, on points that went through the others."""
    if X is not None and len(pipeline) > 1:
        if isinstance(X, Source):
            raise ValueError("a pipeline transforms arrays: pass X as one, or compress its end.")
        X = pipeline[:-1].transform(X)
    name, last = pipeline.steps[-1]
    new = copy.copy(pipeline)
    new.steps = [*pipeline.steps[:-1], (name, compress(last, X, **how))]
    return new


class Found(NamedTuple):
    """Terms, and what their method knows of them."""

    terms: Terms
    term_bound: int | None = None
    distance_bound: float | None = None
    expected_distance: float | None = None
    history: Array | None = None
    passes: int = 0


class Compressor:
    """One compression: a machine, points, settings."""

    def __init__(self, seen: View, X: PointsLike, options: dict[str, Any], **how: Any) -> None:
        self.view, self.f = seen, seen.functions
        self.how, self.method, self.options = how, how["method"], options
        self.n_centres, self.error = how["n_centres"], how["error"]
        if self.n_centres is not None and self.n_centres < 1:
            raise ValueError(f"n_centres must be at least 1, got {self.n_centres!r}.")
        if self.error is not None and not self.error > 0.0:
            raise ValueError(f"error must be positive, got {self.error!r}.")
        if (how["centres"] is None) == (self.method == "projection"):
            raise ValueError("method='projection', and no other, takes `centres`.")
        takes = [*inspect.signature(METHODS[self.method]).parameters][1:]
        for name in options.keys() - set(takes):
            raise ValueError(
                f"method={self.method!r} has no option {name!r}; it takes "
                f"{', '.join(takes) or 'none'}."
            )
        if self.n_centres is None and self.error is None:
            self.error = seen.fitted.tol
        self.X, self.given = X, X is not None
        self.points: Any = None
        self.source: Source | None = None
        if seen.known:
            self.points = np.arange(seen.machine.shape_fit_[0])
        elif not self.given:
            self.points = self.f.points
        elif isinstance(X, Source) or hasattr(X, "__dask_graph__"):
            self.source = as_source(X).checked()
        else:
            self.points = seen.fitted.check(X)
        self.slack = SLACK * (self.error or 0.0)
        self.shared = Shared(self.f, slack=self.slack)
        self.how_to_read = {"n_jobs": how["n_jobs"]}

    def run(self) -> Any:
        """Return the compressed machine."""
        found = METHODS[self.method](self, **self.options)
        expansion, kept = expanded(self.view, found.terms)
        change = None
        if self.how["refit_null_space"]:
            change = self._null_space_change(found.terms)
            b = expansion.null_space_coef + change
            expansion = replace(expansion, null_space_coef=b)
        machine = self.view.machine._with_expansion(expansion)
        machine.compression_ = self._certified(machine, found, kept, change)
        return machine

    # Methods -------------------------------------------------------------------------------------

    @property
    def fixed(self) -> int:
        """Number of terms that what the kernel leaves free needs."""
        return len(self.view.anchors) * len(np.unique(np.argmax(self.f.allowed, axis=0)))

    @property
    def limit(self) -> int:
        """Largest number of terms beside the anchors."""
        q = self.fixed
        if self.n_centres is None:
            return self.f.n
        if self.n_centres <= q:
            raise ValueError(
                f"the kernel needs {q} terms for what it leaves free: n_centres must be larger."
            )
        return int(self.n_centres) - q

    @property
    def radius(self) -> float:
        points = self.f.points if self.source is not None and self.points is None else self.points
        diag = np.asarray(self.f.kernel.diag(points), dtype=np.float64)
        return float(np.sqrt(np.max(diag, initial=0.0)))

    @property
    def _aim(self) -> float:
        """The error less what is kept back of it for rounding."""
        return float(self.error) - 2.0 * self.slack

    def greedy(self) -> Found:
        pursuit, limit = Pursuit(self.f), self.limit
        passes = 0
        # A bound on every function by that of all together is safe, and nothing else is followed.
        enough = 0.0
        if self.error is not None and not self.given:
            enough = self.error / max(self.radius, 1e-300)
        if self.error is not None and self.given:
            pursuit.watch(self._few())
        while True:
            while len(pursuit.order) < limit:
                near = pursuit.distance <= enough
                if self.given and self.error is not None:
                    near = pursuit.worst <= self._aim and bool(pursuit.order)
                if near or not pursuit.step():
                    break
            if not self.given or self.error is None or len(pursuit.order) >= limit:
                break
            worst = self._worst(pursuit.terms(), self.shared)
            passes += int(self.source is not None)
            if not len(worst.values) or worst.values[0] <= self._aim:
                break
            pursuit.watch(take(worst.X, worst.values > self._aim))
            if not pursuit.step():
                break
        history = np.sqrt(np.maximum(pursuit.squared, 0.0))
        return Found(pursuit.terms(), history=history, passes=passes)

    def _few(self) -> Any:
        """Return some of the points."""
        if self.points is None:
            assert self.source is not None
            return as_rows(self.f, draw(self.source, MAX_WATCHED_POINTS, **self.how_to_read).X)
        n = count(self.points)
        some = np.unique(np.linspace(0, n - 1, min(n, MAX_WATCHED_POINTS)).astype(np.intp))
        return take(self.points, some)

    def projection(self) -> Found:
        if self.view.known:
            raise ValueError("a known matrix has no other points; use method='greedy'.")
        Z = self.view.fitted.check(self.how["centres"])
        m = count(Z)
        groups = np.zeros(m, dtype=np.intp)
        if len(self.f.allowed) > 1:
            groups = np.searchsorted(
                self.view.machine.classes_, self.view.machine.predict(self.how["centres"])
            ).astype(np.intp)
        return Found(projected(self.f, Z, groups, np.full(m, -1, dtype=np.intp)))

    def preimage(self, polish: int = 100) -> Found:
        terms, history = search(self.f, self.limit, 0.0, self.error or 0.0, polish)
        return Found(terms, history=history)

    # Certificate ---------------------------------------------------------------------------------

    def _worst(self, terms: Terms, shared: Shared) -> Worst:
        if self.source is None:
            return worst_of(self.f, terms, self.points, shared.size)
        return worst_points(shared, terms, self.source, **self.how_to_read)

    def _null_space_change(self, terms: Terms) -> Array:
        """Return the coefficients, (D, q), that explain most of what terms leave of the values."""
        if self.view.known or self.source is not None:
            raise ValueError("what is unpenalized is fitted to rows in memory; leave it as it is.")
        B, rest = self.view.fitted.null_space(self.points), self.f.minus(terms)(self.points)
        return np.asarray(np.linalg.lstsq(B, rest)[0].T)

    def _certified(
        self, machine: Predictor, found: Found, kept: Terms, change: Array | None
    ) -> Compression:
        f, rest = self.f, self.f.minus(found.terms)
        worst = self._worst(found.terms, Shared(self.f, 1))
        sup, radius = float(np.max(worst.values, initial=0.0)), float(np.sqrt(worst.diag))
        if change is not None:
            left = rest(self.points) - self.view.fitted.null_space(self.points) @ change.T
            sup = float(np.max(np.abs(left), initial=0.0))
        agreement = None
        if is_classifier(machine) and self.given and self.source is None:
            same = self.view.machine.predict(self.X) == machine.predict(self.X)
            agreement = float(np.mean(same))
        if f.kernel.stationary:
            radius = float(np.sqrt(np.max(f.kernel.diag(take(f.points, [0])))))
        return Compression(
            method=self.method,
            n_before=f.n,
            n_after=kept.n,
            norms=np.sqrt(f.squared_norms()),
            distances=np.sqrt(rest.squared_norms()),
            rounding=_rounding(rest),
            radius=radius,
            sup_error=sup,
            n_points=worst.n,
            everywhere=f.kernel.stationary and change is None,
            index=kept.index,
            term_bound=found.term_bound,
            distance_bound=found.distance_bound,
            expected_distance=found.expected_distance,
            agreement=agreement,
            history=found.history,
            passes=found.passes + int(self.source is not None),
        )


METHODS: dict[str, Callable[..., Found]] = {
    "greedy": Compressor.greedy,
    "preimage": Compressor.preimage,
    "projection": Compressor.projection,
}


def _rounding(rest: KernelFunctions) -> float:
    """Return the root of what rounding may add to a squared norm, |d|'|K||d| times its unit."""
    sizes = np.sqrt(np.maximum(np.asarray(rest.kernel.diag(rest.points), dtype=np.float64), 0.0))
    return float(np.sqrt(np.finfo(np.float64).eps) * np.max(sizes @ np.abs(rest.coef)))
