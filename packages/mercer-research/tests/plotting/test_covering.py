"""The display of covering numbers draws the curve of the report."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC
from mercer_research.plotting import CoveringDisplay


def test_stretches_of_the_curve_make_the_whole():
    X, y = make_moons(160, noise=0.2, random_state=0)
    display = CoveringDisplay.from_estimator(SVC(gamma=1.0).fit(X, y), X, y)
    report = display.report
    stretches = [display.lines_[name] for name in dict.fromkeys(report.active)]
    for line in stretches:
        np.testing.assert_allclose(line.get_xdata(), np.log(1 / report.radii))
    together = np.nanmax([line.get_ydata() for line in stretches], axis=0)
    np.testing.assert_array_equal(together, report.log_covering)
    assert len({line.get_color() for line in stretches}) == len(stretches)
    plt.close("all")
