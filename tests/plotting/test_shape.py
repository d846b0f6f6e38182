"""What a display of a shaped machine shows."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from mercer import ShapeConstrainedRegressor
from mercer.kernels import Gaussian
from mercer.plotting import ShapeDisplay
from mercer.regularizers import Bounded, Increasing


def test_line_and_marks_are_those_of_the_machine():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (40, 2)), columns=["a", "b"])
    y = np.sin(7 * frame["a"]) + frame["b"]
    known = [Increasing("a"), Bounded(-9.0, 9.0)]
    machine = ShapeConstrainedRegressor(known, kernel=Gaussian(0.4), C=10.0, lines=4, tol=1e-2)
    machine.fit(frame, y)
    _, ax = plt.subplots()
    display = ShapeDisplay.from_estimator(machine, frame, feature="a", ax=ax)
    line = pd.DataFrame({"a": display.t, "b": frame["b"].median()})
    np.testing.assert_allclose(display.line_.get_ydata(), machine.predict(line), atol=1e-6)
    assert display.ax_.get_xlabel() == "a"
    active, idle = display.marks_
    assert len(active.get_xdata()) > 0
    assert len(idle.get_xdata()) == 0
    assert "price" in active.get_label()
    plt.close("all")
