"""Losses by name."""

import pytest

from cases import CLASSIFICATION, REGRESSION
from mercer.losses import Huber, Interval, Squared, named


def test_names_cover_every_loss():
    # Distances to intervals are made of another loss, which has the name.
    plain = {type(loss) for loss in REGRESSION if not isinstance(loss, Interval)}
    assert set(named.REGRESSION.values()) == plain
    # A label is a number too: the squared loss of it is the least-squares classifier.
    assert set(named.CLASSIFICATION.values()) == {type(loss) for loss in CLASSIFICATION} | {Squared}


def test_resolves_names_and_leaves_losses_alone():
    assert named.resolve("huber", named.REGRESSION) == Huber()
    loss = Huber(3.0)
    assert named.resolve(loss, named.REGRESSION) is loss


@pytest.mark.parametrize("wrong", ["hinge", "Huber", None])
def test_refuses_other_names_with_the_list_of_them(wrong):
    with pytest.raises(ValueError, match=r"one of absolute, .*squared_epsilon_insensitive; got"):
        named.resolve(wrong, named.REGRESSION)
