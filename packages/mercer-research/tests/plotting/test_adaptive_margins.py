"""The display of adaptive margins draws what was measured."""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.diagnostics import TwoGaussians
from mercer_research.estimators import LeaveOneOutSVC
from mercer_research.plotting import AdaptiveMarginDisplay


def test_required_margins():
    X, Y = TwoGaussians([1.0], [-1.0]).draw(40, 0)
    machine = LeaveOneOutSVC().fit(X, Y)
    display = AdaptiveMarginDisplay.from_estimator(machine)
    drawn = np.concatenate([display.points_.get_offsets(), display.carriers_.get_offsets()])
    assert len(display.carriers_.get_offsets()) == len(machine.support_)
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(machine.left_out_margins_))
    np.testing.assert_allclose(np.sort(drawn[:, 1]), np.sort(machine.required_margins_))
    plt.close(display.figure_)
