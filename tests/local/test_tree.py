"""Trees of local machines: balance, ties, categories, overlap."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.local import Local
from mercer.local.tree import Tree, grow, sensitivity


def uniform(n=2000, p=3, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, p))


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 16, 50])
def test_leaves_are_as_many_as_wanted_and_balanced(leaves):
    X = uniform()
    tree = grow(X, leaves, np.ones(3))
    sizes = np.bincount(tree.route(X))
    assert tree.leaves == len(sizes) == leaves
    assert tree.depth == int(np.ceil(np.log2(leaves)))
    # Every cut is off by one row at most.
    assert np.max(sizes) - np.min(sizes) <= np.max(sizes) * 0.34 + 2
    if leaves in (1, 2, 16):
        assert np.ptp(sizes) <= 4


def test_new_points_fall_into_leaves_of_the_same_share():
    X, new = uniform(4000), uniform(40_000, seed=1)
    share = np.bincount(grow(X, 8, np.ones(3)).route(new), minlength=8) / len(new)
    # A cut by 4000 points has a standard error of .008 at the first level, .016 at the third.
    np.testing.assert_allclose(share, 1 / 8, atol=0.02)


def test_a_point_has_its_leaf_alone_and_in_any_batch():
    X = uniform(500)
    tree = grow(X, 9, np.array([1.0, 2.0, 0.5]))
    order = np.random.default_rng(1).permutation(500)
    together = tree.route(X)
    np.testing.assert_array_equal(tree.route(X[order]), together[order])
    np.testing.assert_array_equal([tree.route(x[None])[0] for x in X[:50]], together[:50])
    np.testing.assert_array_equal(tree.route(sp.csr_array(X)), together)


def test_the_feature_that_the_kernel_sees_furthest_apart_is_cut_first():
    X = uniform() * [1.0, 10.0, 1.0]
    assert grow(X, 2, np.ones(3)).column[0] == 1
    scales = sensitivity(Gaussian([1.0, 100.0, 0.1]), X)
    assert grow(X, 2, scales).column[0] == 2


def test_sensitivity_of_categories_is_their_loss_by_any_change():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 5, size=400)])
    found = sensitivity(Laplacian([2.0, 4.0], categories=(1,)), X, [1])
    np.testing.assert_allclose(found, [0.5, 0.25])
    # Kernels that change sign have no logarithm.
    assert np.all(sensitivity(Linear(), X) > 0)


def test_repeated_values_are_never_parted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, size=1000), np.full(1000, 3.0)]).astype(float)
    tree = grow(X, 8, np.array([1.0, 100.0]))
    assert tree.leaves == 4  # there are no more different rows
    assert len(np.unique(np.column_stack([X, tree.route(X)]), axis=0)) == 4
    assert grow(np.ones((50, 2)), 4, np.ones(2)).leaves == 1


def test_a_rare_value_does_not_make_a_leaf_of_a_few_rows():
    X = uniform(1000, 2)
    X[:, 0] = 0.0
    X[:5, 0] = 1000.0  # largest spread, but no cut near the middle
    tree = grow(X, 2, np.array([1.0, 1e-3]))
    assert tree.column[0] == 1
    assert np.ptp(np.bincount(tree.route(X))) <= 2


def test_categories_go_to_one_side_whole():
    rng = np.random.default_rng(0)
    codes = rng.choice([7.0, 1.0, 4.0, 2.0], p=[0.4, 0.3, 0.2, 0.1], size=1000)
    X = np.column_stack([codes, rng.uniform(size=1000)])
    tree = grow(X, 2, np.array([10.0, 1.0]), categories=[0])
    assert tree.column[0] == 0
    leaf = tree.route(X)
    sides = [set(np.unique(codes[leaf == side])) for side in (0, 1)]
    assert not sides[0] & sides[1]
    # The most frequent first as long as there is room: .4 and .1.
    assert sides[0] == {7.0, 2.0}
    # A category that was not there goes right.
    assert tree.route(np.array([[99.0, 0.5]]))[0] == 1


def test_overlap_gives_both_sides_their_neighbours():
    X = uniform(1000, 1)
    tree = grow(X, 2, np.ones(1), overlap=0.1)
    (_, left, a), (_, right, b) = tree.parts(X, overlap=True)
    assert len(left) == pytest.approx(550, abs=2)
    assert len(right) == pytest.approx(550, abs=2)
    both = np.intersect1d(left, right)
    low, high = tree.band[0]
    assert np.all((X[both, 0] >= low) & (X[both, 0] <= high))
    weights = np.zeros(1000)
    weights[left] += a
    weights[right] += b
    np.testing.assert_allclose(weights, 1.0)


@pytest.mark.parametrize("leaves", [3, 8])
def test_weights_add_up_and_have_no_jump(leaves):
    X = uniform(3000, 2)
    tree = grow(X, leaves, np.ones(2), overlap=0.2)

    def weights(new):
        out = np.zeros((len(new), leaves))
        for leaf, rows, weight in tree.parts(new, overlap=True):
            out[rows, leaf] += weight
        return out

    line = np.column_stack([np.linspace(0, 1, 20_001), np.full(20_001, 0.4)])
    W = weights(line)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    steepest = max(1.0 / (high - low) for low, high in tree.band if high > low)
    assert np.max(np.abs(np.diff(W, axis=0))) <= 2 * steepest / 20_000 * tree.depth


def test_empty_tree_is_one_leaf():
    tree = Tree()
    tree.children[tree.add()] = (0, -1)
    assert tree.leaves == 1
    assert tree.depth == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"leaf_size": 1}, "leaf_size"),
        ({"overlap": 0.7}, "overlap"),
        ({"blend": True}, "give an overlap"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Local(**settings)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_descent_is_the_way_from_node_to_node(dtype):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=(600, 2)), rng.integers(0, 7, 600)]).astype(dtype)
    tree = grow(X, 24, np.array([1.0, 0.5, 1.0]), categories=(2,))
    assert any(codes is not None for codes in tree.codes)
    new = np.vstack([X, X[:5] + np.array([0, 0, 0.5]), [[np.nan, 0, 1]], [[0, 0, 99]]]).astype(
        dtype
    )

    def by_hand(x):
        node = 0
        while tree.column[node] >= 0:
            value, codes = float(x[tree.column[node]]), tree.codes[node]
            right = value > tree.cut[node] if codes is None else value not in codes
            node = tree.children[node][right]
        return tree.children[node][0]

    leaf = tree.route(new)
    np.testing.assert_array_equal(leaf, [by_hand(x) for x in new])
    parts = {k: rows for k, rows, _ in tree.parts(new)}
    assert sorted(parts) == sorted(set(leaf))
    for k, rows in parts.items():
        np.testing.assert_array_equal(rows, np.flatnonzero(leaf == k))
    visited = {k: rows for k, rows, _ in tree._visited(new.astype(np.float64), False)}
    for k, rows in visited.items():
        np.testing.assert_array_equal(rows, parts[k])
