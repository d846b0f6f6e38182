"""What the studies of manifolds share: data, fits along a path of lambda, peers and yardsticks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPRegressor

# Real data are found as the tests find them.
from data import MISSING
from data import load as read_table
from mercer.manifold import PrincipalManifold

Array = np.ndarray


class MissingDataError(Exception):
    """The data are not on this machine; the message says where they belong."""


@dataclass
class Table:
    """One table of a study: columns, rows that begin with a name, and what the columns mean."""

    caption: str
    columns: list[str]
    rows: list[list[Any]] = field(default_factory=list)

    def row(self, name: str, *values: Any) -> None:
        """Add a row; None is a question that a method has no answer to."""
        if len(values) != len(self.columns):
            raise ValueError(f"{name}: {len(values)} values for {len(self.columns)} columns")
        self.rows.append([name, *(None if v is None else float(v) for v in values)])

    def __getitem__(self, key: tuple[str, str]) -> float:
        """Return a number by the names of its row and column."""
        (found,) = (row for row in self.rows if row[0] == key[0])
        return float(found[1 + self.columns.index(key[1])])


@dataclass
class Study:
    """What a study found."""

    title: str
    question: str
    settings: str
    tables: list[Table]
    claims: list[tuple[str, float, float]] = field(default_factory=list)
    """What must hold: words, our number, and the largest that is good enough."""

    chosen: str = ""
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Study:
        tables = [Table(**table) for table in record["tables"]]
        claims = [(words, ours, most) for words, ours, most in record["claims"]]
        return cls(**record | {"tables": tables, "claims": claims})

    @property
    def complaints(self) -> list[str]:
        return [
            f"{self.title}: {words}: {ours:.4g}, more than {most:g}"
            for words, ours, most in self.claims
            if not ours <= most
        ]


def load(name: str) -> Any:
    """Return a data set."""
    if MISSING:
        raise MissingDataError(MISSING)
    return read_table(name)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer of a call, and its seconds."""
    start = time.perf_counter()
    answer = call()
    return answer, time.perf_counter() - start


def fit(latent: Any, X: Array, **options: Any) -> PrincipalManifold:
    """Fit a manifold; a candidate that is stopped or too stiff loses by its validation error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the manifold explains", UserWarning)
        # A path of lambda is a continuation already.
        return PrincipalManifold(latent, continuation=False, **options).fit(X)


@dataclass
class Choice:
    """The manifold of least validation error among candidates."""

    manifold: PrincipalManifold
    error: float
    seconds: float
    """Of all candidates and the last fit."""

    last: float
    """Of the last fit alone."""

    tried: int

    @property
    def words(self) -> str:
        m = self.manifold
        ended = "" if m.n_iter_ < m.max_iter else ", where it was stopped"
        return (
            f"{m.latent!r}, width {m.width:g}, λ = {m.lam:g} of {self.tried} candidates; "
            f"{m.n_iter_} further iterations{ended}"
        )


def choose(
    X: Array,
    V: Array,
    latents: Iterable[tuple[Any, float]],
    lambdas: Sequence[float],
    *,
    max_iter: int = 15,
    finish: int = 100,
) -> Choice:
    """Choose nodes, width and lambda by the mean distance of rows that were not fitted.

    For every latent set and width lambda falls, each fit starts from the coordinates of the fit
    before, and ends with the first that is worse on V; the best goes on until it converges.
    """
    start = time.perf_counter()
    best: tuple[float, PrincipalManifold] | None = None
    tried = 0
    for latent, width in latents:
        Z: Any = "pca"
        last = np.inf
        for lam in lambdas:
            m = fit(latent, X, lam=lam, width=width, init=Z, max_iter=max_iter, tol=1e-3)
            error, Z, tried = -m.score(V), m.embedding_, tried + 1
            if best is None or error < best[0]:
                best = error, m
            if error > last:
                break
            last = error
    assert best is not None
    m = best[1]
    options = {"lam": m.lam, "width": m.width, "init": m.embedding_, "tol": 1e-4}
    final, seconds = timed(lambda: fit(m.latent, X, max_iter=finish, **options))
    return Choice(final, -final.score(V), time.perf_counter() - start, seconds, tried)


def mean_square(A: Array, B: Array) -> float:
    """Return the mean squared distance of rows."""
    return float(np.mean(np.sum((A - B) ** 2, axis=1)))


def plane(X: Array, k: int) -> PCA:
    return PCA(k, svd_solver="full").fit(X)


def rebuild(pca: Any, X: Array) -> Array:
    """Return the images of rows after a way there and back."""
    return np.asarray(pca.inverse_transform(pca.transform(X)))


def kernel_components(X: Array, V: Array, k: int, short: bool = False) -> KernelPCA:
    """Return scikit-learn's kernel PCA of least validation error, among 15 widths and ridges."""
    scale = 1.0 / (X.shape[1] * X.var())
    best: tuple[float, KernelPCA] | None = None
    for factor in (1.0,) if short else (0.1, 0.3, 1.0, 3.0, 10.0):
        for alpha in (1e-2,) if short else (1e-4, 1e-2, 1.0):
            m = KernelPCA(
                k,
                kernel="rbf",
                gamma=factor * scale,
                alpha=alpha,
                fit_inverse_transform=True,
                random_state=0,
                eigen_solver="arpack",
            ).fit(X)
            error = mean_square(V, rebuild(m, V))
            best = (error, m) if best is None or error < best[0] else best
    assert best is not None
    return best[1]


class AutoEncoder:
    """A neural network from rows to rows through k hidden units, by scikit-learn."""

    def __init__(self, k: int, hidden: int, max_iter: int) -> None:
        self.k, self.hidden, self.max_iter = k, hidden, max_iter

    def fit(self, X: Array, V: Array, seeds: Iterable[int]) -> AutoEncoder:
        """Fit from some seeds and keep the network of least validation error."""
        self.mean, self.scale = X.mean(axis=0), float(X.std())
        best: tuple[float, MLPRegressor] | None = None
        for seed in seeds:
            net = MLPRegressor(
                hidden_layer_sizes=(self.hidden, self.k, self.hidden),
                activation="tanh",
                learning_rate_init=3e-3,
                max_iter=self.max_iter,
                n_iter_no_change=50,
                tol=1e-5,
                random_state=seed,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                net.fit(self._in(X), self._in(X))
            error = mean_square(self._in(V), net.predict(self._in(V)))
            best = (error, net) if best is None or error < best[0] else best
        assert best is not None
        self.net = best[1]
        return self

    def _in(self, X: Array) -> Array:
        return np.asarray((X - self.mean) / self.scale)

    def transform(self, X: Array) -> Array:
        """Return the values of the middle units."""
        H = self._in(X)
        for W, b in zip(self.net.coefs_[:2], self.net.intercepts_[:2], strict=True):
            H = np.tanh(H @ W + b)
        return np.asarray(H)

    def rebuild(self, X: Array) -> Array:
        return np.asarray(self.net.predict(self._in(X)) * self.scale + self.mean)


def left_out_errors(Z: Array, labels: Array) -> int:
    """Count the leave-one-out errors of the label of the nearest neighbour."""
    nearest = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors(return_distance=False)[:, 0]
    return int(np.sum(labels[nearest] != labels))


def new_errors(Z: Array, labels: Array, new: Array, truth: Array) -> int:
    """Count the errors of the label of the nearest neighbour among the fitted rows."""
    nearest = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors(new, return_distance=False)[:, 0]
    return int(np.sum(labels[nearest] != truth))


def fill_by_plane(pca: PCA, X: Array) -> Array:
    """Fill cells that are missing in the same columns of all rows, by least squares in a plane."""
    gone = np.isnan(X[0])
    W = pca.components_
    scores = np.linalg.lstsq(W[:, ~gone].T, (X - pca.mean_)[:, ~gone].T, rcond=None)[0]
    return np.asarray(np.where(gone, pca.mean_ + scores.T @ W, X))
