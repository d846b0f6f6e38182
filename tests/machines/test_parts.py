"""Parts of machines that no prediction shows, each beside what it is by definition."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import SVR
from mercer.machines.leaf_tasks import summary
from mercer.machines.leaves import _Certificates
from mercer.machines.variation_machine import _rows_of


@pytest.mark.parametrize("unit", [1.0, 1e-13, 1e13])
def test_rows_span_the_same_in_every_unit(unit):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(7, 3)) @ rng.normal(size=(3, 5))
    basis = _rows_of(unit * Z)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(Z @ basis @ basis.T, Z, atol=1e-12)


def test_the_slowest_leaf_and_the_one_with_the_largest_gap_are_named():
    """Branches come in any order, and their leaves are numbered in the order of branches."""
    solution = SVR().fit(np.arange(4.0)[:, None], np.arange(4.0)).solution_

    def leaf(seconds, gap):
        times = {"fit": 0.5 * seconds, "kernel": 0.5 * seconds}
        return summary(replace(solution, times=times, gap=gap))

    all_of = _Certificates()
    all_of.add(1, [leaf(3.0, 0.5), leaf(1.0, 0.1)])
    all_of.add(0, [leaf(2.0, 0.2), None, leaf(0.5, 0.7)])
    found = all_of.joined()
    words = "5 leaves: the slowest is number 3 (3 s), the largest gap that of number 2 (0.7)"
    assert found.reason == words
    assert found.gap == pytest.approx(1.5)
