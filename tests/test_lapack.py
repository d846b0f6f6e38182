"""LAPACK without the interpreter's lock: SciPy's answers to the last bit, and other threads run."""

import sys
import threading

import numpy as np
import pytest
from scipy.linalg import blas, lapack

from mercer import _lapack

RNG = np.random.default_rng(0)


def positive(n):
    A = RNG.standard_normal((n, n))
    return A @ A.T + n * np.eye(n)


# Memory by rows, by columns, and inside of a larger matrix.
HELD = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "part": lambda K: np.asfortranarray(np.pad(K, 3))[3:-3, 3:-3],
}


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("n", [1, 9, 130])
def test_answers_are_scipys(n, held, lower):
    K, B = HELD[held](positive(n)), RNG.standard_normal((n, 4))
    before = K.copy(), B.copy()
    for name in ("dpotrf", "dtrtri", "dlauum"):
        mine, theirs = (getattr(m, name)(K, lower=lower) for m in (_lapack, lapack))
        assert np.array_equal(mine[0], theirs[0])
        assert mine[1] == theirs[1] == 0
    for b in (B, B[:, 0]):
        mine, theirs = (m.dpotrs(K, b, lower=lower)[0] for m in (_lapack, lapack))
        assert np.array_equal(mine, theirs)
    for name in ("dtrmm", "dtrsm"):
        for side, trans_a in ((0, 0), (0, 1), (1, 0), (1, 1)):
            how = {"side": side, "lower": lower, "trans_a": trans_a}
            mine, theirs = (
                getattr(m, name)(-0.5, K, B.T if side else B, **how) for m in (_lapack, blas)
            )
            assert np.array_equal(mine, theirs)
    assert np.array_equal(K, before[0])
    assert np.array_equal(B, before[1])


def test_memory_that_may_be_lost_is_used():
    K = np.asfortranarray(positive(5))
    assert _lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1)[0] is K
    by_rows = np.ascontiguousarray(positive(5))
    assert _lapack.dpotrf(by_rows, lower=1, clean=0, overwrite_a=1)[0] is not by_rows


def test_a_minor_that_is_not_positive_is_told():
    K = np.diag([1.0, 2.0, -1.0, 3.0])
    assert _lapack.dpotrf(K, lower=1)[1] == lapack.dpotrf(K, lower=1)[1] == 3


def test_no_rows():
    assert _lapack.dpotrf(np.empty((0, 0)), lower=1)[1] == 0
    assert _lapack.dpotrs(np.empty((0, 0)), np.empty(0), lower=1)[0].size == 0


# Without copies, which leave the lock too.
K, OUT = (np.asfortranarray(positive(1200)) for _ in range(2))
CALLS = {
    "dpotrf": lambda: _lapack.dpotrf(K, lower=1, clean=0, overwrite_a=1),
    "dtrtri": lambda: _lapack.dtrtri(K, lower=1, overwrite_c=1),
    "dlauum": lambda: _lapack.dlauum(K, lower=1, overwrite_c=1),
    "dpotrs": lambda: _lapack.dpotrs(K, OUT, lower=1, overwrite_b=1),
    "dtrmm": lambda: _lapack.dtrmm(1.0, K, OUT, lower=1, overwrite_b=1),
    "dtrsm": lambda: _lapack.dtrsm(1.0, K, OUT, lower=1, overwrite_b=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_thread_runs_meanwhile(name):
    order, begun = [], threading.Event()

    def run():
        begun.set()
        CALLS[name]()
        order.append("done")

    usual = sys.getswitchinterval()
    # Nobody is asked to hand the lock over: a thread gets it where another one leaves it.
    sys.setswitchinterval(1000.0)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        begun.wait()
        order.append("meanwhile")
        thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert order == ["meanwhile", "done"]
