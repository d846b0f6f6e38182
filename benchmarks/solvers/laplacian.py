"""Laplacian tiles beside Gaussian tiles, cdist and the bare loop over |x - z|; one thread.

Contenders alternate, and the least of their processor times counts, so that a busy machine hurts
all alike.
The bare loop adds |x - z| of 32 features of points that stay in the fastest cache, two rows at a
time, and makes no kernel value of it: the vector limit.
"""

import time
from collections.abc import Callable

import numpy as np
from numba import njit
from scipy.spatial.distance import cdist

from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.kernels.laplace_tiles import LaplaceTiles
from mercer.kernels.radial_tiles import RadialTiles

ROWS, REPEATS = 2048, 9
SAMPLE = 1000
RUN, FEATURES = 256, 32


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def bare(X, columns, t, u):
    """Add weighted distances of a run of columns, four features of two rows at a time."""
    for i in range(0, X.shape[0], 2):
        x, y = X[i], X[i + 1]
        for q in range(0, columns.shape[0], 4):
            x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
            y0, y1, y2, y3 = y[q], y[q + 1], y[q + 2], y[q + 3]
            z0, z1, z2, z3 = columns[q], columns[q + 1], columns[q + 2], columns[q + 3]
            for j in range(t.shape[0]):
                s = t[j] - x1 * abs(x0 - z0[j])
                s = s - x2 * abs(x1 - z1[j])
                s = s - x3 * abs(x2 - z2[j])
                t[j] = s - x0 * abs(x3 - z3[j])
                r = u[j] - x1 * abs(y0 - z0[j])
                r = r - x2 * abs(y1 - z1[j])
                r = r - x3 * abs(y2 - z2[j])
                u[j] = r - x0 * abs(y3 - z3[j])


def alternate(*contenders: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the least processor seconds of every contender; the first calls do not count."""
    least = [np.inf] * len(contenders)
    for run in range(repeats + 1):
        for k, contender in enumerate(contenders):
            start = time.process_time()
            contender()
            if run:
                least[k] = min(least[k], time.process_time() - start)
    return least


def tiles(dtype: type, p: int) -> None:
    """Print nanoseconds a pair of tiles, of cdist with exp, and a feature of the bare loop."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, p)).astype(dtype)
    out = np.empty((ROWS, ROWS), dtype=dtype)
    x = rng.normal(size=(ROWS, FEATURES)).astype(dtype)
    columns = np.ascontiguousarray(rng.normal(size=(FEATURES, RUN)).astype(dtype))
    t, u = np.zeros((2, RUN), dtype=dtype)
    gaussian, laplacian = RadialTiles(X, p**-0.5), LaplaceTiles(X, 1.0 / p)
    few = X[:256]
    seconds = alternate(
        lambda: gaussian(X, out),
        lambda: laplacian(X, out),
        lambda: np.exp(-cdist(few, X, "cityblock")),
        lambda: bare(x, columns, t, u),
    )
    pairs = [ROWS * ROWS] * 2 + [len(few) * ROWS, ROWS * RUN * FEATURES]
    g, m, c, b = (1e9 * s / n for s, n in zip(seconds, pairs, strict=True))
    print(
        f"{np.dtype(dtype).name:8} {p:3d} {g:9.2f} {m:10.2f} {m / g:6.2f} {c:8.2f} {c / m:6.1f} "
        f"{m / p:9.3f} {b:6.3f} {m / p / b:6.2f}",
        flush=True,
    )


def pullbacks(p: int) -> None:
    """Print milliseconds of matrices and of the gradients of all length scales."""
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(SAMPLE, p)), rng.normal(size=(SAMPLE, SAMPLE))
    G = G + G.T
    scale = np.full(p, np.sqrt(p))
    for kernel in (Gaussian(scale), Matern(scale, 1.5), Laplacian(scale), Laplacian(scale, (0, 1))):
        K, slopes = (
            1e3 * s for s in alternate(lambda k=kernel: k(X), lambda k=kernel: k.pullback(X, G))
        )
        name = type(kernel).__name__ + (" and categories" if not kernel.stationary else "")
        print(f"{name:24} {p:3d} {K:8.2f} {slopes:9.2f} {slopes / K:6.2f}", flush=True)


def main() -> None:
    """Print both tables."""
    print(
        f"Tiles of {ROWS:,} x {ROWS:,} pairs, processor nanoseconds a pair, least of {REPEATS} runs"
    )
    print("dtype      p  Gaussian  Laplacian  ratio    cdist faster  /feature   bare  ratio")
    for dtype in (np.float32, np.float64):
        for p in (2, 10, 50):
            tiles(dtype, p)
    print(f"\nMatrices of {SAMPLE:,} points in float64 and pullbacks, processor milliseconds")
    print("kernel                     p   matrix  pullback  ratio")
    for p in (10, 50):
        pullbacks(p)


if __name__ == "__main__":
    main()
