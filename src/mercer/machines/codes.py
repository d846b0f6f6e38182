"""Several classes as sets of two: code books, and how decisions are read back.

A code book is a matrix of classes by columns. A column is a problem of two classes, those coded 1
against those coded -1; classes coded 0 stay out of it.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import hadamard
from sklearn.utils import check_random_state

from mercer._typing import Array, Seed

__all__ = [
    "CODES",
    "DECODINGS",
    "check_decoding",
    "code_book",
    "column_separation",
    "decode",
    "row_separation",
]

CODES = ("one-vs-rest", "one-vs-one", "minimal", "ecoc", "dense-random", "sparse-random")
DECODINGS = ("loss", "hamming", "least-squares")
# Up to this many classes all 2^(k-1) - 1 columns are taken.
MAX_EXHAUSTIVE_CLASSES = 7
# Random books that are drawn, of which the best is taken, and their lengths per log2 of classes.
DRAWS, DENSE, SPARSE = 200, 10, 15


def code_book(codes: Any, n_classes: int, random_state: Seed = None) -> Array:
    """Return the code book of a name, or check one that is given.

    Parameters
    ----------
    codes : str or (n_classes, n_columns) array of -1, 0 and 1
        ``"one-vs-rest"``: a column a class. ``"one-vs-one"``: a column a pair. ``"minimal"``: the
        binary digits of the class, as few columns as there can be. ``"ecoc"``: all columns for up
        to seven classes, beyond a Hadamard code, whose rows all differ in half of their places.
        ``"dense-random"``, ``"sparse-random"``: of many random books the one whose rows, then
        columns, lie farthest apart; half of a sparse one is zero.
    n_classes : int
    random_state : int, RandomState or None
        For random books.

    References
    ----------
    T. G. Dietterich and G. Bakiri, *Solving multiclass learning problems via error-correcting
    output codes*, JAIR 2, 1995; E. L. Allwein, R. E. Schapire and Y. Singer, *Reducing multiclass
    to binary*, JMLR 1, 2000.

    Examples
    --------
    >>> code_book("minimal", 4)
    array([[-1., -1.],
           [-1.,  1.],
           [ 1., -1.],
           [ 1.,  1.]])
    """
    if not isinstance(codes, str):
        return _checked(codes, n_classes)
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if codes == "one-vs-rest":
        return 2.0 * np.eye(n_classes) - 1.0
    if codes == "one-vs-one":
        pairs = list(combinations(range(n_classes), 2))
        M = np.zeros((n_classes, len(pairs)))
        for k, (i, j) in enumerate(pairs):
            M[i, k], M[j, k] = 1.0, -1.0
        return M
    if codes == "minimal":
        return _digits(n_classes, np.arange((n_classes - 1).bit_length())[::-1])
    if codes == "ecoc":
        if n_classes <= MAX_EXHAUSTIVE_CLASSES:
            # The complements of columns are the same problems: the last class is always coded 1.
            numbers = np.arange(1, 2 ** (n_classes - 1))
            return np.asarray(1.0 - 2.0 * (numbers >> np.arange(n_classes)[:, None] & 1))
        size = 2 ** (n_classes - 1).bit_length()
        # The rows include those of all powers of two, so no two columns are alike or opposite.
        return np.asarray(hadamard(size)[:n_classes, 1:], dtype=np.float64)
    return _random(n_classes, codes == "sparse-random", check_random_state(random_state))


def _digits(n_classes: int, places: Any) -> Array:
    """Return binary digits of the classes as plus and minus one."""
    return np.asarray(2.0 * (np.arange(n_classes)[:, None] >> places & 1) - 1.0)


def _checked(codes: Any, n_classes: int) -> Array:
    M = np.asarray(codes, dtype=np.float64)
    if M.ndim != 2 or len(M) != n_classes or not np.all(np.isin(M, (-1.0, 0.0, 1.0))):
        raise ValueError(
            f"codes must be a matrix of -1, 0 and 1 with a row for each of the {n_classes} "
            f"classes, got shape {M.shape}."
        )
    if not (np.all(np.any(M > 0, axis=0)) and np.all(np.any(M < 0, axis=0))):
        raise ValueError("every column of codes must set some class against another: 1 and -1.")
    if row_separation(M) == 0:
        raise ValueError("two classes have the same row of codes; no decision tells them apart.")
    return M


def _random(n_classes: int, sparse: bool, rng: Any) -> Array:
    """Return the best of many random books."""
    length = int(np.ceil((SPARSE if sparse else DENSE) * np.log2(n_classes)))
    values, p = ([-1.0, 0.0, 1.0], [0.25, 0.5, 0.25]) if sparse else ([-1.0, 1.0], [0.5, 0.5])
    best, best_score = None, (0.0, 0.0)
    for _ in range(DRAWS):
        M = _proper(rng.choice(values, size=(n_classes, length), p=p))
        score = (row_separation(M), column_separation(M))
        if best is None or score > best_score:
            best, best_score = M, score
    assert best is not None
    return best if best_score[0] > 0 else 2.0 * np.eye(n_classes) - 1.0


def _proper(M: Array) -> Array:
    """Return the columns that are problems, each once: complements are the same problem."""
    M = M[:, np.any(M > 0, axis=0) & np.any(M < 0, axis=0)]
    first = M[np.argmax(M != 0, axis=0), np.arange(M.shape[1])]
    _, index = np.unique(M * first, axis=1, return_index=True)
    return M[:, np.sort(index)]


def row_separation(M: Array) -> float:
    """Return the least distance between classes: places that differ, a half where one is zero.

    Half of it, rounded down, is the number of wrong columns that Hamming decoding survives.

    Examples
    --------
    >>> row_separation(code_book("ecoc", 5)), row_separation(code_book("one-vs-one", 5))
    (8.0, 5.5)
    """
    if len(np.unique(M, axis=0)) < len(M):
        return 0.0  # whatever zeros pretend
    alike = M @ M.T
    np.fill_diagonal(alike, -np.inf)
    return float(0.5 * (M.shape[1] - np.max(alike)))


def column_separation(M: Array) -> float:
    """Return the least distance between columns, also from complements: errors are then unlike.

    Examples
    --------
    >>> column_separation(code_book("ecoc", 8))
    4.0
    """
    if M.shape[1] < 2:
        return float(len(M))
    alike = np.abs(M.T @ M)
    np.fill_diagonal(alike, 0.0)
    return float(0.5 * (len(M) - np.max(alike)))


def check_decoding(M: Array, decoding: str) -> None:
    """Refuse a decoding that the code book does not allow.

    Parameters
    ----------
    M : (n_classes, n_columns) array
        The code book.
    decoding : {"loss", "hamming", "least-squares"}
    """
    if decoding != "least-squares" or len(M) == 2:
        return
    if not np.all(M) or np.linalg.matrix_rank(np.column_stack([M, np.ones(len(M))])) < len(M):
        raise ValueError(
            "least-squares decoding finds a share of every class, for which the codes must have no "
            "zeros and at least as many independent columns as classes less one; use "
            "decoding='loss'."
        )


def decode(M: Array, F: Array, decoding: str) -> Array:
    r"""Return a score of every class, (n, n_classes), the largest of which decides.

    Parameters
    ----------
    M : (n_classes, n_columns) array
        The code book.
    F : (n, n_columns) array
        Values of the columns' machines.
    decoding : {"loss", "hamming", "least-squares"}
        ``"loss"``: minus the squared loss of the values under the codes of the class,
        :math:`\sum_l (1 - M_{kl} F_l)^2`. ``"hamming"``: minus the number of columns that vote
        otherwise, ties decided by the values. ``"least-squares"``: the share :math:`q_k` of the
        class in :math:`\min_q |F - M'q|^2`, :math:`\sum_k q_k = 1`; values of the squared loss
        estimate :math:`M'p(x)` with the probabilities of the classes.

    Examples
    --------
    >>> F = np.array([[0.9, -0.2, -0.7]])
    >>> [int(decode(code_book("one-vs-rest", 3), F, how).argmax()) for how in DECODINGS]
    [0, 0, 0]
    """
    if decoding == "hamming":
        votes = 0.5 * (np.sign(F) @ M.T - M.shape[1])
        sure = F @ M.T
        # Distances differ by a half at least, this by less.
        return np.asarray(votes + 0.25 * sure / (1.0 + np.abs(sure)))
    if decoding == "loss":
        return np.asarray(2.0 * F @ M.T - F**2 @ (M**2).T - M.shape[1])
    # Shares relative to their mean 1/k are free but for their sum.
    k = len(M)
    free = np.eye(k) - 1.0 / k
    return np.asarray(1.0 / k + (F - M.mean(axis=0)) @ np.linalg.pinv(free @ M) @ free)
