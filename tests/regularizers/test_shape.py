"""Knowledge as rows: what they say of functions whose derivatives are known."""

import numpy as np
import pytest

from mercer.regularizers import (
    At,
    AtLeast,
    AtMost,
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Difference,
    Increasing,
    Integral,
    Lipschitz,
    Mean,
    Order,
    Periodic,
    Positive,
    Slope,
)
from mercer.regularizers.constraints import Domain, compile_rows
from mercer.regularizers.knowledge import as_constraints

LINE = Domain(np.array([[0.0], [2.0]]), grid=50)
BOX = Domain(np.random.default_rng(0).uniform(0, 1, (40, 3)), grid=10, lines=16)


def values(rows, f):
    return rows.G @ f(rows.Z)


def test_slopes_and_curvatures_count_per_range():
    cube = lambda Z: Z[:, 0] ** 3  # noqa: E731
    rows = Increasing(0).rows(LINE)
    middles = rows.Z[::2, 0] + 0.005
    # A difference of a cube over h is its slope in the middle plus h^2 / 4; steps are range / 200.
    expected = 2.0 * (3 * middles**2 + 0.01**2 / 4)
    np.testing.assert_allclose(values(rows, cube), expected, rtol=1e-9)
    bends = values(Convex(0).rows(LINE), cube)
    inner = np.arange(1, 200) / 100
    np.testing.assert_allclose(bends[[0, -1]], 4.0 * 6 * inner[[0, -1]], rtol=1e-6)


@pytest.mark.parametrize("domain", [LINE, BOX], ids=["line", "box"])
def test_shapes_know_functions_that_have_them(domain):
    rise = lambda Z: Z[:, 0] ** 2 + (Z[:, -1] - 1.0) * (Z.shape[1] > 1)  # noqa: E731
    known = [Increasing(0), Convex(0), Slope(0, 0.0, 4.1), Lipschitz(4.1), Bounded(-1.0, 4.0)]
    for constraint in known:
        rows = constraint.rows(domain)
        assert np.max(rows.violation(values(rows, rise))) < 1e-9, constraint
    for constraint in (Decreasing(0), Concave(0), Slope(0, 1.0), Lipschitz(0.5), Bounded(1.0)):
        rows = constraint.rows(domain)
        assert np.max(rows.violation(values(rows, rise))) > 0.1, constraint


def test_regions_are_kept_to():
    rows = Increasing(0, over={0: (0.2, 0.4), 1: 0.7, 2: (0.0, 0.5)}).rows(BOX)
    low, high = rows.Z.min(axis=0), rows.Z.max(axis=0)
    np.testing.assert_allclose([low[0], high[0], low[1], high[1]], [0.2, 0.4, 0.7, 0.7])
    assert high[2] <= 0.5
    assert Positive(over={0: (5.0, 6.0)}).rows(LINE).Z.min() == 5.0


def test_points_differences_means_and_integrals():
    square = lambda Z: Z[:, 0] ** 2  # noqa: E731
    rows = compile_rows(
        [
            At([1.0, 2.0], [1.0, 4.0]),
            AtLeast(1.0, 0.5),
            AtMost(1.0, 1.5),
            Difference(2.0, 1.0, 3.0, 3.0),
            Mean(2.0, 2.0),
            Integral(8 / 3, 8 / 3),
            Order([[0.0], [1.0], [2.0]], [[0, 1], [1, 2]], margin=1.0),
        ],
        LINE,
    )
    assert np.max(rows.violation(values(rows, square))) < 1e-12
    assert rows.owner.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 6]
    box = Integral(0.0, 0.0).rows(BOX)
    spans = np.ptp(BOX.X, axis=0)
    assert box.G.sum() == pytest.approx(spans.prod())


def test_periods_are_equalities():
    wave = lambda Z: np.sin(2 * np.pi * Z[:, 0])  # noqa: E731
    assert np.max(np.abs(values(Periodic(1.0).rows(LINE), wave))) < 1e-12
    assert np.max(np.abs(values(Periodic(0.7).rows(LINE), wave))) > 0.1
    with pytest.raises(ValueError, match="at most the range"):
        Periodic(3.0).rows(LINE)


def test_signs_of_features_are_short_for_shapes():
    assert as_constraints({"b": 1, "a": -1}, ["a", "b"], 2) == [Increasing(1), Decreasing(0)]
    assert as_constraints(np.array([0, -1]), None, 2) == [Decreasing(1)]
    assert as_constraints(Increasing("a", over={"b": 0.5}), ["a", "b"], 2) == [
        Increasing(0, over={1: 0.5})
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"c": 1}, "names the feature 'c'"),
        ([Increasing(2)], "position below 2"),
        ([1, 2], "1, 0 or -1"),
        ([1], "pieces of knowledge"),
    ],
)
def test_what_is_not_knowledge_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        as_constraints(given, ["a", "b"], 2)


def test_walls_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match="says nothing"):
        Slope(0)
    with pytest.raises(ValueError, match="at_least <= at_most"):
        Bounded(1.0, 0.0)
    with pytest.raises(ValueError, match="fit a data frame"):
        as_constraints([Increasing("a")], None, 2)
    with pytest.raises(ValueError, match="points of 3 finite"):
        At([0.0, 1.0], 1.0).rows(BOX)
