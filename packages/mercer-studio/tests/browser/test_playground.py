"""The playground without a browser: pictures, points and words beside the bare estimators."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
)
from mercer.losses import Huber
from mercer_studio.browser.playground import DARK, LIGHT, POINT_SETS, Picture, Playground, Settings
from mercer_studio.browser.playground.model import MAX_POINTS, UNDO_STEPS, certificate
from mercer_studio.browser.playground.settings import KERNELS, LOSSES, WINDOW

# Written out again, so that the playground's own table of estimators is not its own witness.
TWO_CLASSES = {
    "hinge": lambda **k: SVC(**k),
    "squared_hinge": lambda **k: KernelClassifier(
        "squared_hinge", solver="auto" if k["kernel"] in {"poly", "linear"} else "smo", **k
    ),
    "logistic": lambda **k: KernelLogisticRegression(**k),
    "squared": lambda **k: LSSVC(**k),
}
THREE_CLASSES = {**TWO_CLASSES, "hinge": lambda **k: KernelClassifier("hinge", **k)}
CURVES = {
    "epsilon_insensitive": lambda **k: SVR(epsilon=0.15, **k),
    "squared": lambda **k: LSSVR(**k),
    "absolute": lambda **k: KernelRegressor("absolute", **k),
    "huber": lambda **k: KernelRegressor(Huber(0.3), **k),
}
KERNEL_ARGUMENTS = {
    "rbf": {"gamma": 0.7},
    "laplacian": {"gamma": 0.7},
    "matern": {"gamma": 0.7},
    "poly": {"degree": 2, "gamma": 0.1, "coef0": 1.0},
    "linear": {},
}
SETTINGS = {"C": 3.0, "gamma": 0.7, "epsilon": 0.15, "delta": 0.3, "degree": 2}


def grid():
    x, y = np.meshgrid(np.linspace(-3, 3, 97), np.linspace(-2.25, 2.25, 73))
    return np.column_stack([x.ravel(), y.ravel()])


def run(script):
    """Execute a script without its printed line, and return its names."""
    names = {}
    exec(script.replace("print(model.solution_)\n", ""), names)
    return names


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LOSSES["classes"])
def test_two_classes_are_those_of_the_estimator(loss, kernel):
    sheet = Playground.from_set("two moons", 40, loss=loss, kernel=kernel, **SETTINGS)
    picture = sheet.fit()
    machine = TWO_CLASSES[loss](C=3.0, kernel=kernel, **KERNEL_ARGUMENTS[kernel])
    machine.fit(sheet.points, sheet.labels)
    assert np.array_equal(picture.values.ravel(), machine.decision_function(grid()))
    assert np.array_equal(picture.support, machine.support_)
    assert picture.gap == machine.solution_.relative_gap
    wrong = np.count_nonzero(machine.predict(sheet.points) != sheet.labels)
    assert picture.counts.count(f"{wrong} are") or (
        wrong < 2 and f"{wrong} are" not in picture.counts
    )


@pytest.mark.parametrize("loss", LOSSES["classes"])
def test_three_classes_are_those_of_the_estimator(loss):
    sheet = Playground.from_set("three clouds", 45, loss=loss, **SETTINGS)
    picture = sheet.fit()
    machine = THREE_CLASSES[loss](C=3.0, kernel="rbf", gamma=0.7).fit(sheet.points, sheet.labels)
    values = machine.decision_function(grid())
    assert np.array_equal(picture.values.reshape(-1, 3), values)
    assert np.array_equal(picture.support, machine.support_)
    assert "machine against the rest" in picture.explanation


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", LOSSES["curve"])
def test_curves_are_those_of_the_estimator(loss, kernel):
    sheet = Playground.from_set("sine with noise", 40, loss=loss, kernel=kernel, **SETTINGS)
    picture = sheet.fit()
    machine = CURVES[loss](C=3.0, kernel=kernel, **KERNEL_ARGUMENTS[kernel])
    machine.fit(sheet.points[:, :1], sheet.points[:, 1])
    assert np.array_equal(picture.values, machine.predict(picture.curve_inputs()[:, None]))
    assert np.array_equal(picture.support, machine.support_)
    expected = {"epsilon_insensitive": 0.15, "huber": 0.3}.get(loss, 0.0)
    assert picture.half_width == expected


@pytest.mark.parametrize("name", POINT_SETS)
def test_the_script_repeats_the_picture(name):
    for loss in LOSSES[POINT_SETS[name].task]:
        picture = Playground.from_set(name, 30, loss=loss, **SETTINGS).fit()
        names = run(picture.script)
        assert np.array_equal(names["values"].ravel(), picture.values.ravel())
        assert np.array_equal(names["model"].support_, picture.support)


def test_hand_drawn_points_are_repeated_by_the_script():
    sheet = Playground().add(1 / 3, -0.0, 0).add(-2.00049, 1e-9, 2).add(0.1 + 0.2, 1.0, 2)
    picture = sheet.fit()
    assert "-0.0]" not in picture.script
    assert np.array_equal(run(picture.script)["values"].ravel(), picture.values.ravel())
    assert picture.classes == (0, 2)


def errors_on(lines, machine, level, column=None):
    points = np.vstack(lines)
    values = machine.decision_function(points)
    return np.abs((values if column is None else values[:, column]) - level).max()


def tolerance(machine):
    """Return what linear interpolation along an edge of the grid may be wrong by: h² |f''| / 8.

    The second derivatives of a Gaussian expansion are at most 2 gamma sum |a|: of exp(-gamma r²)
    along a line, it is 2 gamma (2 gamma r² - 1) exp(-gamma r²), which is largest at r = 0.
    """
    h = 6.0 / 96
    return h**2 / 8 * 2 * machine.kernel_.gamma * np.abs(machine.dual_coef_).sum(axis=1).max()


def test_margins_are_where_the_decision_value_is_one():
    picture = Playground.from_set("two circles", 60, C=1.0, gamma=0.5).fit()
    machine = SVC(C=1.0, gamma=0.5).fit(picture.points, picture.labels)
    bound = tolerance(machine)
    assert bound < 0.1
    below, above = picture.margins()
    assert errors_on(below, machine, -1.0) <= bound
    assert errors_on(above, machine, 1.0) <= bound
    assert errors_on(picture.boundary(), machine, 0.0) <= bound
    # The bound is one that other lines miss.
    assert errors_on(above, machine, 0.0) > bound


def test_boundaries_of_three_classes_are_where_two_of_them_tie():
    picture = Playground.from_set("three clouds", 60, C=1.0, gamma=0.5).fit()
    machine = KernelClassifier("hinge", C=1.0, gamma=0.5).fit(picture.points, picture.labels)
    bound = tolerance(machine)
    for k, lines in enumerate(picture.margins()):
        assert errors_on(lines, machine, 1.0, k) <= bound
    values = np.sort(machine.decision_function(np.vstack(picture.boundary())), axis=1)
    # A difference of two functions, each interpolated; the largest of three has kinks on an edge
    # only where three tie.
    assert np.quantile(values[:, 2] - values[:, 1], 0.95) <= 2 * bound


def test_the_image_has_the_class_that_is_decided_for():
    for name in ("two moons", "three clouds"):
        picture = Playground.from_set(name, 60).fit()
        image = picture.image()
        assert image.shape == (3 * 72, 3 * 96)
        machine = picture.machine
        x = -3 + (np.arange(288) + 0.5) / 48
        y = -2.25 + (np.arange(216) + 0.5) / 48
        middles = np.column_stack([a.ravel() for a in np.meshgrid(x, y)])
        decided = machine.predict(middles).reshape(image.shape)
        # Faint pixels lie within the error of interpolation of a boundary.
        clear = image % 85 > 4
        assert clear.mean() > 0.5
        assert np.array_equal((image // 85)[clear], decided[clear])
        assert len(LIGHT.ramps()) == len(DARK.ramps()) == 255


def test_points_are_added_moved_removed_and_brought_back():
    start = Playground.from_set("two moons", 10)
    added = start.add(0.5, 0.25, label=1)
    assert added.n_points == 11
    assert added.points[-1].tolist() == [0.5, 0.25]
    assert added.labels[-1] == 1
    moved = added.move(10, -1.0, 2.0)
    assert moved.points[-1].tolist() == [-1.0, 2.0]
    assert np.array_equal(moved.points[:-1], start.points)
    removed = moved.remove([0, 10])
    assert np.array_equal(removed.points, start.points[1:])
    cleared = removed.clear()
    assert cleared.n_points == 0
    back = cleared
    for expected in (removed, moved, added, start, start):
        back = back.undo()
        assert back.drawing.same(expected.drawing)


def test_settings_survive_undo_and_equal_points_are_no_step():
    sheet = Playground.from_set("two moons", 10).add(0, 0).change(C=7.0)
    assert sheet.undo().settings.C == 7.0
    assert sheet.move(0, *sheet.points[0]) is sheet
    assert sheet.draw(sheet.points + 1e-5, sheet.labels) is sheet


def test_undo_keeps_a_bounded_number_of_drawings():
    sheet = Playground()
    for k in range(UNDO_STEPS + 5):
        sheet = sheet.add(k / 100, 0.0)
    assert len(sheet.earlier) == UNDO_STEPS


def test_a_playground_that_is_fitted_cannot_be_changed():
    sheet = Playground.from_set("two moons", 10)
    with pytest.raises(ValueError, match="read-only"):
        sheet.points[0] = 1.0


@pytest.mark.parametrize(
    ("sheet", "said"),
    [
        (Playground(), "Tap into the picture"),
        (Playground().add(0, 0, 1).add(1, 1, 1), "second class"),
        (Playground().change(task="curve"), "a curve needs two"),
        (Playground().change(task="curve").add(0, 0), "a curve needs two"),
    ],
)
def test_too_few_points_give_a_sentence(sheet, said):
    picture = sheet.fit()
    assert isinstance(picture, Picture)
    assert said in picture.message
    assert not picture.script
    assert not len(picture.support)


def test_one_point_a_class_is_enough():
    picture = Playground().add(-1, 0, 0).add(1, 0, 1).fit()
    assert not picture.message
    assert picture.support.tolist() == [0, 1]
    # By symmetry, the boundary is the vertical axis, up to the last digits of a kernel value.
    assert np.abs(np.vstack(picture.boundary())[:, 0]).max() < 1e-9


def test_more_points_than_can_be_refitted_are_refused():
    n = MAX_POINTS
    full = Playground().draw(np.zeros((n, 2)), np.zeros(n))
    with pytest.raises(ValueError, match=r"1,001 points are more .* up to 1,000"):
        full.add(0, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coordinates_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="must be finite"):
        Playground().add(bad, 0.0)
    with pytest.raises(ValueError, match="must be finite"):
        Playground().add(0.0, 0.0).move(0, 0.0, bad)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"task": "regression"}, "task must be one of"),
        ({"loss": "hinges"}, "Did you mean 'hinge'"),
        ({"task": "curve", "loss": "hinge"}, "loss must be one of"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"C": 0.0}, "C must be positive"),
        ({"gamma": np.nan}, "gamma must be positive"),
        ({"epsilon": -0.1}, "epsilon must be at least 0"),
        ({"degree": 0}, "degree must be at least 1"),
    ],
)
def test_wrong_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        Settings(**settings)


def test_labels_are_those_of_the_three_classes():
    with pytest.raises(ValueError, match="labels must be 0, 1 or 2"):
        Playground().add(0, 0, label=3)
    with pytest.raises(ValueError, match="2 points have 1 labels"):
        Playground().draw(np.zeros((2, 2)), [0])


@pytest.mark.parametrize("name", POINT_SETS)
def test_point_sets_stay_in_the_window(name):
    points, labels = POINT_SETS[name].points(300)
    left, right, low, high = WINDOW
    assert points.shape == (300, 2)
    assert (points >= (left, low)).all()
    assert (points <= (right, high)).all()
    n_classes = 1 if POINT_SETS[name].task == "curve" else 3 if "three" in name else 2
    assert len(np.unique(labels)) == n_classes
    again, _ = POINT_SETS[name].points(300)
    assert np.array_equal(points, again)


def test_another_task_starts_with_its_own_loss():
    sheet = Playground().change(loss="logistic").change(task="curve")
    assert sheet.settings.loss == "epsilon_insensitive"


def test_words_follow_the_settings():
    moons = Playground.from_set("two moons", 60)
    small, large = moons.change(C=0.01).fit(), moons.change(C=1000.0).fit()
    assert "C is small" in small.explanation
    assert "C is large" in large.explanation
    assert "islands" in moons.change(gamma=50.0).fit().explanation
    assert "straight line" in moons.change(kernel="linear").fit().explanation
    assert small.certificate.startswith("Certified")


def test_rings_are_left_out_where_the_loss_gives_every_point_influence():
    moons = Playground.from_set("two moons", 20)
    sparse, dense = moons.fit(), moons.change(loss="logistic").fit()
    assert np.array_equal(sparse.ringed, sparse.support)
    assert len(dense.support) == 20
    assert not len(dense.ringed)
    two = Playground().add(-1, 0, 0).add(1, 0, 1).fit()
    assert two.ringed.tolist() == [0, 1]


def test_the_certificate_never_says_less_than_the_gap():
    for gap in (0.9, 1e-3, 1e-7, 3e-10):
        solution = SVC().fit([[0.0], [1.0]], [0, 1]).solution_
        said = certificate(
            replace(solution, objective=1.0, dual=1.0 - gap, gap=gap, resolution=1.0)
        )
        percent = float(said.split("within ")[1].split(" %")[0])
        # Two digits are rounded to the nearest.
        assert percent >= 100 * gap * 0.949


def test_the_width_is_where_the_kernel_has_fallen_to_the_same_value():
    for kernel in ("rbf", "laplacian"):
        settings = Settings(kernel=kernel, gamma=2.5)
        machine = settings.machine().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
        value = machine.kernel_(np.zeros((1, 2)), np.array([[settings.width, 0.0]]))
        assert value.item() == pytest.approx(np.exp(-0.5), rel=1e-12)
