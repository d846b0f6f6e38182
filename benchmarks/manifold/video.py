"""Video: a face in 1,965 frames, two coordinates a frame, and a patch that is covered.

Frames to test are drawn one by one, or in blocks of consecutive frames whose neighbours in time
are not fitted either.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.linear_model import Ridge
from sklearn.manifold import TSNE, Isomap
from sklearn.neighbors import NearestNeighbors

from benchmarks.manifold.shared import (
    Array,
    AutoEncoder,
    Study,
    Table,
    choose,
    fill_by_plane,
    kernel_components,
    load,
    plane,
    rebuild,
    timed,
)
from mercer.manifold import Grid
from mercer_research.manifold import GenerativeTopographicMap

HEIGHT, WIDTH = 28, 20
# The mouth: a hundred pixels of 560.
PATCH = (slice(16, 26), slice(5, 15))
NEAR = 5
FEW = ((Grid(6, 6), 1.0),)
SHEETS = ((Grid(10, 10), 1.0), (Grid(15, 15), 1.5))
LAMBDAS = (1e-3, 1e-4, 1e-5)
OURS = "`PrincipalManifold`, 2 coordinates"


def split(n: int, blocks: bool, seed: int = 0) -> list[Array]:
    """Return frames to fit, to choose settings and to test: 65, 15 and 20 of a hundred."""
    rng = np.random.default_rng(seed)
    pieces = np.array_split(np.arange(n), 40 if blocks else n)
    order = rng.permutation(len(pieces))
    ends = np.cumsum([round(0.65 * len(pieces)), round(0.15 * len(pieces))])
    return [np.sort(np.concatenate([pieces[i] for i in part])) for part in np.split(order, ends)]


def in_time(Z: Array, frames: Array) -> float:
    """Return the share of the five nearest frames of a map that are at most five frames away."""
    nearest = NearestNeighbors(n_neighbors=5).fit(Z).kneighbors(return_distance=False)
    return float(np.mean(np.abs(frames[nearest] - frames[:, None]) <= NEAR))


def covered(X: Array) -> Array:
    """Return frames whose mouth is not seen."""
    images = X.reshape(-1, HEIGHT, WIDTH).copy()
    images[:, *PATCH] = np.nan
    return images.reshape(len(X), -1)


def grey(A: Array, B: Array) -> float:
    """Return the root mean squared error of pixels."""
    return float(np.sqrt(np.mean((A - B) ** 2)))


def compare(X: Array, blocks: bool, short: bool) -> tuple[Table, str]:
    """Return the table of one way to draw frames, and the settings that were chosen."""
    fitted, validated, tested = split(len(X), blocks)
    F, V, T = X[fitted], X[validated], X[tested]
    hidden = covered(T)
    gone = np.isnan(hidden[0])
    table = Table(
        f"{len(T)} test frames. Errors are root mean squared errors of pixels in grey "
        "levels (0 to 255): of the whole frame, and of the mouth when it is covered. In time: "
        "share of the five nearest fitted frames in the map that are at most five frames away.",
        ["frame", "covered mouth", "in time", "choice and fit, s", "new frames, s"],
    )

    def add(
        name: str,
        seconds: float | None,
        images: Callable[[Array], Array] | None,
        fill: Callable[[Array], Array] | None,
        Z: Array | None,
    ) -> None:
        back, took = (None, None) if images is None else timed(lambda: grey(images(T), T))
        mouth = None if fill is None else grey(fill(hidden)[:, gone], T[:, gone])
        table.row(name, back, mouth, None if Z is None else in_time(Z, fitted), seconds, took)

    caps = {"max_iter": 4, "finish": 4} if short else {"max_iter": 10, "finish": 20}
    sheets, lambdas = (FEW, LAMBDAS[:1]) if short else (SHEETS, LAMBDAS)
    found = choose(F, V, sheets, lambdas, **caps)
    m = found.manifold
    add(OURS, found.seconds, m.reconstruct, m.impute, m.embedding_)
    if not short:
        gtm, took = timed(lambda: GenerativeTopographicMap(Grid(10, 10)).fit(F))
        back = lambda A: gtm.inverse_transform(gtm.transform(A))  # noqa: E731
        add("`GenerativeTopographicMap`, 2 coordinates", took, back, None, gtm.transform(F))
    for k in (2, 10, 20):
        pca, took = timed(lambda k=k: plane(F, k))
        back = lambda A, pca=pca: rebuild(pca, A)  # noqa: E731
        fill = lambda A, pca=pca: fill_by_plane(pca, A)  # noqa: E731
        add(f"PCA, {k} components", took, back, fill, pca.transform(F))
    if not short:
        kpca, took = timed(lambda: kernel_components(F, V, 2))
        add("kernel PCA, 2 components", took, lambda A: rebuild(kpca, A), None, kpca.transform(F))
        net, took = timed(lambda: AutoEncoder(2, 64, 300).fit(F, V, range(2)))
        add("autoencoder, 2 units", took, net.rebuild, None, net.transform(F))
        Z, took = timed(lambda: Isomap(n_neighbors=10, n_components=2).fit_transform(F))
        add("Isomap, 10 neighbours", took, None, None, Z)
        Z, took = timed(lambda: TSNE(2, random_state=0).fit_transform(F))
        add("t-SNE", took, None, None, Z)
    tree = NearestNeighbors(n_neighbors=1).fit(F)
    nearest = lambda A: F[tree.kneighbors(A, return_distance=False)[:, 0]]  # noqa: E731
    knn = KNNImputer(n_neighbors=3).fit(F)
    add("nearest fitted frames (1, mouth 3)", None, nearest, knn.transform, F)
    ridge, took = timed(lambda: Ridge(1e3).fit(F[:, ~gone], F[:, gone]))

    def predicted(A: Array) -> Array:
        filled = A.copy()
        filled[:, gone] = ridge.predict(A[:, ~gone])
        return filled

    add("ridge regression of the mouth", took, None, predicted, None)
    mean = F.mean(axis=0)
    middle = lambda A: np.where(gone, mean, A)  # noqa: E731
    add("mean frame", None, lambda A: np.tile(mean, (len(A), 1)), middle, None)
    return table, found.words


def run(short: bool = False, blocks: bool = False) -> Study:
    """Compare reconstructions of frames, covered mouths and neighbours in time."""
    X = load("frey_faces").X
    table, chosen = compare(X[:200] if short else X, blocks, short)
    ours = table[OURS, "frame"] / table["PCA, 2 components", "frame"]
    drawn = "blocks of consecutive frames" if blocks else "frames drawn one by one"
    return Study(
        f"Video: {drawn}",
        "A face changes its expression over 1,965 frames. How much of a frame do two coordinates "
        "keep, do they fill in a mouth that is covered, and are neighbours in the map "
        "neighbours in time?",
        f"{200 if short else len(X):,} frames of {HEIGHT} × {WIDTH} pixels (`frey_faces`), 65 % to "
        f"fit, 15 % to choose settings, 20 % to test, {drawn}. The mouth is a patch of 10 × 10 "
        "pixels. Nodes, width and λ are chosen by the reconstruction of validation frames, as are "
        "width and ridge of kernel PCA and the start of the autoencoder.",
        [table],
        [("error of a frame over the error of two principal components", ours, 0.9)],
        chosen,
    )


def run_blocks(short: bool = False) -> Study:
    """Compare on blocks of consecutive frames."""
    return run(short, blocks=True)
