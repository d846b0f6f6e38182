"""Losses by name."""

import ast
from pathlib import Path

import pytest

from cases import CLASSIFICATION, REGRESSION
from mercer.losses import Huber, Interval, Squared, named


def test_names_cover_every_loss():
    # Distances to intervals are made of another loss, which has the name.
    plain = {type(loss) for loss in REGRESSION if not isinstance(loss, Interval)}
    where = "give named.py the module of the loss, and tests/cases.py an instance"
    assert set(named.REGRESSION.values()) == plain, where
    # A label is a number too: the squared loss of it is the least-squares classifier.
    labels = {type(loss) for loss in CLASSIFICATION} | {Squared}
    assert set(named.CLASSIFICATION.values()) == labels, where


def test_resolves_names_and_leaves_losses_alone():
    assert named.resolve("huber", named.REGRESSION) == Huber()
    loss = Huber(3.0)
    assert named.resolve(loss, named.REGRESSION) is loss


@pytest.mark.parametrize("wrong", ["hinge", "Huber", None])
def test_refuses_other_names_with_the_list_of_them(wrong):
    with pytest.raises(ValueError, match=r"one of absolute, .*squared_error; got"):
        named.resolve(wrong, named.REGRESSION)


def tables_of_losses(source):
    """Yield the keys of every dictionary in a source that gives losses names."""
    losses = {c.__name__ for c in (named.REGRESSION | named.CLASSIFICATION).values()}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            values = [getattr(value, "id", None) for value in node.values]
            keys = [getattr(key, "value", None) for key in node.keys]
            if len(losses.intersection(values)) > 1 and all(isinstance(k, str) for k in keys):
                yield keys


def test_there_is_one_table_of_names():
    assert list(tables_of_losses('x = {"tube": EpsilonInsensitive, "margin": Hinge}'))
    # A quantile or an expectile is what a band estimates, not a name of its loss.
    allowed = [["quantile", "expectile"]]
    found = [
        keys
        for path in sorted(Path(named.__file__).parents[1].rglob("*.py"))
        if path != Path(named.__file__)
        for keys in tables_of_losses(path.read_text(encoding="utf-8"))
    ]
    assert found == allowed
