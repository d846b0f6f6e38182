"""Samples of the tests and benchmarks: scales and official partitions."""

import numpy as np
import pytest

from data import MISSING, draw


def test_scales_are_those_of_the_rows_to_fit():
    raw, unit, box, top = (
        draw("digits", 500, 100, scaling=s) for s in ("none", "standard", "interval", "largest")
    )
    assert raw.X.max() == 16.0
    np.testing.assert_allclose(unit.X.mean(axis=0), 0.0, atol=1e-12)
    assert set(np.round(unit.X.std(axis=0), 12)) <= {0.0, 1.0}
    assert (box.X.min(), box.X.max()) == (-1.0, 1.0)
    np.testing.assert_array_equal(top.X_test, raw.X_test / 16.0)
    np.testing.assert_array_equal(unit.y, raw.y)


def test_a_set_without_a_partition_has_no_official_one():
    with pytest.raises(ValueError, match="no official partition"):
        draw("digits", 100, official=True)


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_the_official_partition_is_kept():
    sample = draw("a9a", 32_561, 16_281, scaling="none", official=True)
    # Positives of the two parts, as published.
    assert (sample.y.sum(), sample.y_test.sum()) == (7_841, 3_846)
    with pytest.raises(ValueError, match="asked for"):
        draw("a9a", 32_562, official=True)


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_two_answers_about_many_classes():
    sample = draw("covtype_binary", 581_012)
    assert sample.y.sum() == 283_301
