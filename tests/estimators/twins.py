r"""How closely two machines that solve the same problem must agree.

The objective P is strongly convex in :math:`\|f\|`: a machine whose P exceeds the minimum by e lies
within :math:`\sqrt{2 e}` of the minimizer, and :math:`|f(x)| \le \|f\| \sqrt{k(x, x)}`. P is
evaluated here from public attributes alone, the same way for either library; the minimum is at
least the dual value that ours certifies. Nothing is assumed of the other machine.
"""

from itertools import combinations

import numpy as np

TOL = 1e-10
"""Tolerance of the machines compared."""

SINGLE = 2.0**-24
"""Rounding of a kernel value in LIBSVM, which keeps its rows in single precision."""


def sample(n=60, p=3, seed=0):
    """Return inputs, three classes that overlap, targets, and new points."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    noisy = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    classes = np.array(["a", "b", "c"])[np.digitize(noisy, [-0.2, 0.8])]
    return X, classes, noisy, rng.normal(size=(25, p))


def name_of(parameters):
    """Name a test case; functions by their names, which do not change from run to run."""
    return ",".join(f"{k}={getattr(v, '__name__', v)}" for k, v in parameters.items()) or "default"


def agree(ours, theirs, slack, size=None):
    """Assert equality within a bound that is itself small against the values, or another size."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert slack < 0.01 * (np.max(np.abs(theirs)) if size is None else size)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=slack)


def slack(ours, excess, mass, kmax):
    """Bound the difference of decision values of ours and a machine with that excess of P.

    The norms bound the expansions; an intercept is where the free samples put it, up to the
    difference there, the tolerances, and the rounding of LIBSVM's kernel values, ``mass`` being
    the sum of its absolute coefficients.
    """
    norms = np.sqrt(2 * ours.solution_.gap) + np.sqrt(2 * max(excess, 0.0))
    return 2 * np.sqrt(kmax) * norms + 2 * TOL + SINGLE * mass * kmax


def votes(machine, y, kept):
    """Yield for each pair of classes its rows, signs, coefficients over all samples, and intercept.

    Parameters
    ----------
    machine : SVC or NuSVC of either library
    y : (n,) labels
    kept : (m,) array of int
        What ``support_`` counts: scikit-learn forgets samples without weight.
    """
    classes, codes = np.unique(y, return_inverse=True)
    ends = np.concatenate([[0], np.cumsum(machine.n_support_)])
    for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        a = np.zeros(len(y))
        for first, row in ((i, j - 1), (j, i)):
            of = slice(ends[first], ends[first + 1])
            a[kept[machine.support_[of]]] = machine.dual_coef_[row, of]
        rows = np.flatnonzero((codes == i) | (codes == j))
        sign = np.where(codes[rows] == (j if len(classes) == 2 else i), 1.0, -1.0)
        yield rows, sign, a[rows], machine.intercept_[k]
