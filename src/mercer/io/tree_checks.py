"""Trees of scikit-learn from files, looked over before they are followed.

Its compiled loops go from node to node without looking: a child beyond the nodes, a circle or a
feature that points do not have would end the process. Trees are read inside the estimators that
compare the features of points with their own, and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import AnyArray

__all__ = ["checked_trees"]

TREES = {
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
}
SINGLE = "sklearn.tree._classes"
BOOSTING = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
FORESTS = {
    f"{kind}{task}"
    for kind in ("RandomForest", "ExtraTrees")
    for task in ("Classifier", "Regressor")
}
# They hand points to their trees unseen, or follow the nodes themselves.
OTHERS = ("sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._iforest")


def checked_trees(item: Any) -> tuple[str, ...]:
    """Refuse trees that lead outside their arrays; return attributes whose trees are checked.

    Parameters
    ----------
    item : object
        Whatever a model holds.
    """
    kind, parts = type(item), getattr(item, "__dict__", {})
    name = kind.__name__
    if (kind.__module__, name) in TREES:
        raise ValueError(f"a {name} is not held by a forest or a tree of scikit-learn")
    if kind.__module__ == SINGLE and "tree_" in parts:
        _check_grown(name, parts["tree_"], _features(item))
        return ("tree_",)
    if kind.__module__ == BOOSTING and "_predictors" in parts:
        if parts.get("_preprocessor") is not None or "_in_fit" in parts:
            raise ValueError(f"{name} prepares its points itself, which is not looked over")
        for tree in (tree for together in parts["_predictors"] for tree in together):
            _check_boosted(name, tree, _features(item))
        return ("_predictors",)
    if kind.__module__ in OTHERS and "estimators_" in parts:
        if name not in FORESTS:
            raise ValueError(f"{name} has trees, which are looked over in forests only")
        p = _features(item)
        for one in parts["estimators_"]:
            if type(one).__module__ != SINGLE or _features(one) != p:
                raise ValueError(f"{name} has trees of other features than its own {p}")
    return ()


def _features(item: Any) -> int:
    """Return how many features points must have, which the estimator itself compares."""
    found = item.__dict__.get("n_features_in_")
    if type(found) is not int:
        raise ValueError(f"{type(item).__name__} has trees, but no number of features")
    return found


def _check_grown(name: str, tree: Any, p: int) -> None:
    if (type(tree).__module__, type(tree).__name__) not in TREES:
        raise ValueError(f"{name} has a {type(tree).__name__} for a tree")
    if tree.n_features != p:
        raise ValueError(f"{name} has a tree of {tree.n_features} features instead of {p}")
    left, right = tree.children_left, tree.children_right
    inner = (left != -1) | (right != -1)
    depth = _check_nodes(name, left, right, tree.feature, inner, p)
    # Paths are written into arrays of so many nodes.
    if not depth <= tree.max_depth <= len(left):
        raise ValueError(f"{name} has a tree that is deeper than it says")


def _check_boosted(name: str, tree: Any, p: int) -> None:
    if (type(tree).__module__, type(tree).__name__) not in TREES:
        raise ValueError(f"{name} has a {type(tree).__name__} for a tree")
    nodes = tree.nodes
    inner = nodes["is_leaf"] == 0
    if np.any(nodes["is_categorical"][inner]):
        raise ValueError(f"{name} cuts categories, which are not looked over")
    _check_nodes(name, nodes["left"], nodes["right"], nodes["feature_idx"], inner, p)


def _check_nodes(
    name: str, left: AnyArray, right: AnyArray, feature: AnyArray, inner: AnyArray, p: int
) -> int:
    """Refuse nodes that are no tree whose children come after their parents; return its depth."""
    above = np.flatnonzero(inner)
    below = np.concatenate([left[above], right[above]]).astype(np.int64)
    once = len(left) > 0 and np.array_equal(np.sort(below), np.arange(1, len(left)))
    if not once or np.any(below <= np.tile(above, 2)):
        raise ValueError(f"{name} has a tree with children that are not below their node")
    cut = feature[above].astype(np.int64)
    if np.any((cut < 0) | (cut >= p)):
        raise ValueError(f"{name} has a tree that cuts other features than its {p}")
    depth, level = 0, above[above == 0]
    while len(level):
        depth += 1
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
        level = level[inner[level]]
    return depth
