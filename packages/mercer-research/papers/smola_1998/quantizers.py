"""Section 5.3 of the thesis, and its theorem 5.1: what the text says of its functionals.

The chapter has no figures; its statements are identities and limits, checked here in numbers.
"""

from itertools import pairwise

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import PolynomialFeatures

from mercer.kernels import PeriodicGaussian
from mercer.manifold import Circle, Interval, KernelPCA
from mercer_research.manifold import VectorQuantizer
from papers.outcome import Result, at_least, at_most, near
from papers.smola_2001.fits import fit, moved, sine

TURN = 2.0 * np.pi


def circle(seed: int) -> np.ndarray:
    """Return 100 points about the unit circle, noise of deviation 0.1."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.0, TURN, 100)
    return np.asarray(np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.normal(size=(100, 2)))


def components(X: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of kernel PCA with the squared scalar product."""
    machine = KernelPCA(4, kernel="poly", degree=2, coef0=0.0, gamma=1.0, center=False)
    return np.asarray(machine.fit(X).eigenvalues_)


def monomials(X: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of PCA on monomials of degree two without weights."""
    F = PolynomialFeatures((2, 2), include_bias=False).fit_transform(X)
    return np.asarray(np.linalg.svd(F, compute_uv=False)[:4] ** 2)


def run(short: bool = False, random_state: int = 0) -> Result:
    X, ring = sine(random_state), circle(random_state)
    cap = 150 if short else 1000
    closed = [
        fit(
            Circle(M),
            ring,
            lam=0.1,
            kernel=PeriodicGaussian(0.5, period=TURN),
            normalization="sum",
            max_iter=cap,
            tol=1e-6,
        )
        for M in (20, 40)
    ]
    angles = np.linspace(0.0, TURN, 400, endpoint=False)[:, None]
    radius = np.linalg.norm(closed[0].inverse_transform(angles), axis=1)
    polygons = [
        fit(Interval(M), X, lam=lam, penalty="length", max_iter=cap, tol=1e-6)
        for M, lam in ((10, 0.01), (40, 0.01), (40, 0.04))
    ]
    # The penalty is half the integral of the squared speed over an interval of length two.
    unit = [m.penalty_ / (0.25 * m.length() ** 2) for m in polygons[:2]]
    path = [
        fit(Interval(10), X, lam=lam, null_space="linear", max_iter=cap) for lam in (1e8, 1.0, 0.01)
    ]
    least = float(np.var(X, axis=0).sum() - PCA(1).fit(X).explained_variance_[0] * 99 / 100)
    # From the same centres, until no row changes its cluster.
    few = KMeans(4, init=X[:4], n_init=1, tol=0.0).fit(X).inertia_ / len(X)
    ours = VectorQuantizer(4, init=X[:4], tol=0.0).fit(X).objective_
    stiff = fit(Interval(10), X, lam=1e8)
    rng = np.random.default_rng(random_state)
    V = rng.normal(size=(60, 3)) * [1.0, 0.7, 0.4]
    turned = V @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    values, other = components(V), components(turned)
    plain, moved_plain = monomials(V), monomials(turned)
    return Result(
        "Quantization functionals and their limits",
        "Smola 1998, section 5.3 and theorem 5.1",
        "100 points of the unit circle with noise of deviation 0.1, periodic Gaussian of width "
        "0.5, 20 and 40 nodes, λ = 0.1, summed loss; the noisy sine of the principal curves for "
        "length, PCA and mean, with mean loss; 60 points in three dimensions and a random rotation "
        f"for the theorem. At most {cap} iterations. The chapter prints no numbers; references are "
        "closed forms, and for the circle one run of another program on other points.",
        [
            near(
                "circle: mean radius",
                radius.mean(),
                1.0,
                0.03,
                "three standard errors of the mean of 100 radii",
            ),
            near(
                "circle: mean squared distance",
                closed[0].distortion_ / 100,
                0.0067,
                0.0028,
                "two standard errors of a mean of 100 squares of deviation 0.1",
            ),
            at_most(
                "circle: move of the curve as nodes double",
                moved(*closed, (0.0, TURN)),
                0.003,
                "the number of nodes is not critical",
            ),
            near(
                "length: integral of the squared speed over L²/2, 40 nodes",
                unit[1],
                1.0,
                0.02,
                "constant speed at the optimum, where nodes are many",
            ),
            at_least(
                "length: the same with 10 nodes",
                unit[0],
                1.0,
                "the mean of squares is at least the square of the mean",
            ),
            at_most(
                "length: of the curve at λ = 0.04 over that at 0.01",
                polygons[2].length() / polygons[1].length(),
                1.0,
                "λ trades error for length",
            ),
            near(
                "straight lines free, λ = 1e8: error over that of one principal component",
                path[0].distortion_ / least,
                1.0,
                1e-3,
                "large λ recovers PCA; the tolerance of the fit",
            ),
            at_most(
                "the same: largest quotient of errors as λ falls to 1 and 0.01",
                max(b.distortion_ / a.distortion_ for a, b in pairwise(path)),
                1.0,
                "the curve adapts to what is not linear",
            ),
            near(
                "nothing but the constant free, λ = 1e8: error over the variance",
                stiff.distortion_ / np.var(X, axis=0).sum(),
                1.0,
                1e-6,
                "the sample mean, the quantizer with a single point",
            ),
            near(
                "four points: error over that of scikit-learn's k-means",
                ours / few,
                1.0,
                1e-9,
                "the same iteration from the same centres; rounding",
            ),
            near(
                "squared scalar product: largest relative change of eigenvalues by a rotation",
                np.max(np.abs(other / values - 1.0)),
                0.0,
                1e-10,
                "the theorem; rounding",
            ),
            at_least(
                "monomials without weights: the same",
                np.max(np.abs(moved_plain / plain - 1.0)),
                0.01,
                "no other weights are invariant",
            ),
        ],
        {
            "ring": ring.tolist(),
            "curve": closed[0].inverse_transform(angles[::4]).tolist(),
            "unit": unit,
        },
    )
