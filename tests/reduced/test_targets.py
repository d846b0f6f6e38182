"""What problems see of a row: targets and weights, and in words what they cannot be."""

import numpy as np
import pytest

from mercer.data.base import Block
from mercer.reduced.problem import Codes, Some, Values

X = np.zeros((4, 1))


def test_values() -> None:
    Y = np.arange(8.0).reshape(4, 2)
    found, s = Values(2)(Block(X, Y, np.array([1.0, 0.0, 0.0, 2.0])))
    np.testing.assert_array_equal(found, Y)
    assert s.ravel().tolist() == [1.0, 0.0, 0.0, 2.0]
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(Values(2, turn)(Block(X, Y))[0], Y[:, ::-1])
    some, _ = Some(Values(2), [1])(Block(X, Y))
    np.testing.assert_array_equal(some, Y[:, 1:])


def test_codes() -> None:
    classes = np.array(["a", "b", "c"])
    book = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]])
    codes = Codes(classes, book, np.array([1.0, 2.0, 3.0]))
    Y, s = codes(Block(X, np.array(["b", "a", "c", "c"]), np.array([1.0, 1.0, 1.0, 0.5])))
    assert codes.k == 3
    # Classes out of a problem weigh nothing in it.
    assert (Y * (s > 0)).tolist() == book[[1, 0, 2, 2]].tolist()
    assert s.tolist() == [[2, 0, 2], [1, 1, 0], [0, 3, 3], [0, 1.5, 1.5]]
    _, part = Some(codes, [0, 2])(Block(X, np.array(["b"] * 4)))
    assert part.tolist() == [[2.0, 2.0]] * 4
    pair = Codes(classes[:2], book[:2, :1], np.ones(2))
    assert pair(Block(X, np.array(["a", "b", "a", "a"])))[1].shape == (4, 1)


def test_what_targets_cannot_be() -> None:
    with pytest.raises(ValueError, match="rows have 1 targets; the machine has 2"):
        Values(2)(Block(X, np.zeros(4)))
    with pytest.raises(ValueError, match="the target of row 102 is NaN or infinite"):
        Values()(Block(X, np.array([0.0, 0.0, np.nan, 0.0]), None, 100))
    with pytest.raises(ValueError, match="got infinity for sample 100; use 0"):
        Values()(Block(X, np.zeros(4), np.full(4, np.inf), 100))
    codes = Codes(np.array(["a", "b"]), np.array([[1.0], [-1.0]]), np.ones(2))
    with pytest.raises(ValueError, match="row 101 has the unknown class"):
        codes(Block(X, np.array(["a", "z", "b", "b"]), None, 100))
