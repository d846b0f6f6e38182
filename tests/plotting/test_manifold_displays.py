"""Displays of manifolds draw the coordinates, images and errors that estimators give."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from mercer.manifold import Circle, Grid, Interval, KernelPCA, PrincipalManifold
from mercer.manifold.component_count import broken_stick
from mercer.manifold.latent import Sphere, Torus
from mercer.plotting import (
    ConvergenceDisplay,
    EigenvalueDisplay,
    LatentMapDisplay,
    ManifoldDisplay,
    PreimageDisplay,
)
from mercer_research.manifold import PrincipalManifoldCV

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
SETS = [Interval(5), Circle(6), Grid(4, 4), Torus(4, 4), Sphere(12), Grid(3, 3, 3)]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    found = {}
    for latent in SETS:
        made = PrincipalManifold(latent, lam=0.05, tol=0.05)
        found[repr(latent)] = made.fit(X)
    return found


@pytest.fixture(params=SETS, ids=repr)
def manifold(request, fitted):
    return fitted[repr(request.param)]


def places(display):
    """Return what was drawn, by class."""
    return [np.asarray(p.get_offsets()) for p in display.points_]


# Maps ---------------------------------------------------------------------------------------------


def test_every_latent_set_has_a_map(manifold):
    display = LatentMapDisplay.from_estimator(manifold, y=Y, new=X[:2])
    assert [p.get_label() for p in display.points_] == ["0", "1", "2"]
    assert [len(p.get_offsets()) for p in display.points_] == list(np.bincount(Y))
    assert len(display.new_.get_offsets()) == 2
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()


@pytest.mark.parametrize("latent", [Grid(4, 4), Torus(4, 4)], ids=repr)
def test_coordinates_of_a_sheet_are_drawn_as_they_are(fitted, latent):
    manifold = fitted[repr(latent)]
    _, ax = plt.subplots()
    display = LatentMapDisplay.from_estimator(manifold, X, ax=ax, s=5)
    assert display.ax_ is ax
    assert places(display)[0] == pytest.approx(manifold.transform(X))
    assert display.points_[0].get_sizes() == [5]
    (square,) = display.outline_
    low, high = (0.0, 2 * np.pi) if latent.periodic else (-1.0, 1.0)
    assert {*np.ravel(square.get_data())} == {low, high}
    assert square.get_linestyle() == ("--" if latent.periodic else "-")


def test_a_curve_has_one_lane_for_each_class(fitted):
    manifold = fitted[repr(Interval(5))]
    display = LatentMapDisplay.from_estimator(manifold, y=Y)
    for code, drawn in enumerate(places(display)):
        assert drawn[:, 0] == pytest.approx(manifold.embedding_[code == Y, 0])
        assert np.abs(drawn[:, 1] - code).max() < 0.5
        assert len(np.unique(drawn[:, 1])) == len(drawn)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["0", "1", "2"]


def test_numbers_are_heights_above_a_curve_and_colours_elsewhere(fitted):
    target = X[:, 0] + 0.01 * np.arange(len(X))
    for latent in (Interval(5), Circle(6), Grid(4, 4)):
        display = LatentMapDisplay.from_estimator(fitted[repr(latent)], y=target)
        assert np.asarray(display.points_[0].get_array()) == pytest.approx(target)
    display = LatentMapDisplay.from_estimator(fitted[repr(Interval(5))], y=target)
    assert places(display)[0][:, 1] == pytest.approx(target)


def test_rows_of_a_circle_lie_around_it_at_their_angles(fitted):
    manifold = fitted[repr(Circle(6))]
    (drawn,) = places(LatentMapDisplay.from_estimator(manifold))
    angle = np.mod(np.arctan2(drawn[:, 1], drawn[:, 0]), 2 * np.pi)
    assert angle == pytest.approx(manifold.embedding_[:, 0])


def test_heights_of_a_sphere_keep_areas(fitted):
    manifold = fitted[repr(Sphere(12))]
    (drawn,) = places(LatentMapDisplay.from_estimator(manifold))
    assert drawn[:, 1] == pytest.approx(manifold.embedding_[:, 2])
    # Equal cells of the page are equal areas of the sphere: a second moment of all of them.
    points = LatentMapDisplay(coordinates=manifold.embedding_, latent=Sphere(12)).chart.cells(40)[0]
    assert np.mean(points[:, :, None] * points[:, None, :], axis=0) == pytest.approx(
        np.eye(3) / 3, abs=1e-3
    )


@pytest.mark.parametrize("latent", SETS[:-1], ids=repr)
def test_magnification_is_drawn_where_it_is(fitted, latent):
    manifold = fitted[repr(latent)]
    display = LatentMapDisplay.from_estimator(manifold, magnification=True, cells=7)
    values = np.asarray(display.mesh_.get_array())
    assert values.size == (7 if len(values) == 1 else 49)
    points = display.chart.cells(7)[0]
    assert values.ravel() == pytest.approx(manifold.magnification(points))
    # The corners of a cell lie around the place of its coordinates.
    corners = np.asarray(display.mesh_.get_coordinates())
    middle = 0.25 * (corners[1:, 1:] + corners[:-1, 1:] + corners[1:, :-1] + corners[:-1, :-1])
    at = display.chart.place(points, np.full(len(points), -1.5))
    if isinstance(latent, Interval):
        middle, at = middle[..., :1], at[:, :1]
    apart = np.abs(middle.reshape(len(at), -1) - at).max()
    assert apart < (0.2 if isinstance(latent, Circle) else 1e-9)


def test_a_transformer_without_latent_set(fitted):
    scores = KernelPCA(2).fit(X)
    display = LatentMapDisplay.from_estimator(scores, X, Y)
    assert np.vstack(places(display)) == pytest.approx(scores.transform(X))
    assert display.outline_ == []
    assert display.ax_.get_xlabel() == "component 1"
    LatentMapDisplay.from_estimator(PCA(3).fit(X), X)
    LatentMapDisplay.from_estimator(PCA(1).fit(X), X, Y)


def test_maps_refuse(fitted):
    square = fitted[repr(Grid(4, 4))]
    with pytest.raises(ValueError, match="keeps no coordinates"):
        LatentMapDisplay.from_estimator(PCA(2).fit(X))
    with pytest.raises(ValueError, match="one, two or three coordinates, got 4"):
        LatentMapDisplay.from_estimator(PCA(4).fit(X), X)
    with pytest.raises(ValueError, match="need 50 labels"):
        LatentMapDisplay.from_estimator(square, y=Y[1:])
    with pytest.raises(ValueError, match="have 3 coordinates"):
        LatentMapDisplay(coordinates=square.embedding_, new=np.ones((1, 3)))
    with pytest.raises(ValueError, match="one row for each row"):
        LatentMapDisplay(coordinates=np.ones(3))
    with pytest.raises(ValueError, match="projection='3d'"):
        LatentMapDisplay.from_estimator(fitted[repr(Grid(3, 3, 3))], ax=plt.subplots()[1])
    with pytest.raises(ValueError, match="to fill with colours"):
        LatentMapDisplay.from_estimator(fitted[repr(Grid(3, 3, 3))], magnification=True)


# Manifolds ----------------------------------------------------------------------------------------


def test_every_latent_set_has_a_manifold(manifold):
    display = ManifoldDisplay.from_estimator(manifold, X, Y, features=[0, 2])
    assert len(display.points_) == 3
    for line, path in zip(display.lines_, display.lines, strict=True):
        assert np.column_stack(line.get_data()) == pytest.approx(path)
    # Lines lie on the manifold.
    flat = np.concatenate(display.lines)
    some = manifold.reconstruct(manifold.inverse_transform(manifold.nodes_))[:, [0, 2]]
    if isinstance(manifold.latent, Grid):
        assert max(np.linalg.norm(flat - row, axis=1).min() for row in some) < 0.1
    display.figure_.canvas.draw()


def test_residuals_join_rows_and_images(fitted):
    curve = fitted[repr(Interval(5))]
    display = ManifoldDisplay.from_estimator(curve, X, features=[3, 1])
    pairs = np.column_stack(display.residuals_.get_data()).reshape(-1, 3, 2)
    assert np.isnan(pairs[:, 2]).all()
    assert pairs[:, 0] == pytest.approx(X[:, [3, 1]])
    assert pairs[:, 1] == pytest.approx(curve.reconstruct(X)[:, [3, 1]])
    assert display.ax_.get_ylabel() == "feature 1"
    assert ManifoldDisplay.from_estimator(curve, X, residuals=False).residuals_ is None
    bare = ManifoldDisplay.from_estimator(curve, line_kwargs={"color": "red"})
    assert bare.points_ == []
    assert bare.lines_[0].get_color() == "red"


def test_rows_with_missing_cells_have_no_residual(fitted):
    holes = X.copy()
    holes[0, 0] = holes[1, 3] = np.nan
    display = ManifoldDisplay.from_estimator(fitted[repr(Interval(5))], holes, features=[0, 1])
    assert len(display.residuals_.get_xdata()) == 3 * (len(X) - 1)


def test_closed_curves_close(fitted):
    (path,) = ManifoldDisplay.from_estimator(fitted[repr(Circle(6))]).lines
    assert path[0] == pytest.approx(path[-1])


def test_features_by_name_and_in_space():
    frame = load_iris(as_frame=True).data[::3]
    sheet = PrincipalManifold(Grid(3, 3), lam=0.05, tol=0.05).fit(frame)
    names = ["petal length (cm)", "sepal width (cm)", "petal width (cm)"]
    display = ManifoldDisplay.from_estimator(sheet, frame, features=names)
    assert [display.ax_.get_xlabel(), display.ax_.get_zlabel()] == [names[0], names[2]]
    assert display.rows == pytest.approx(frame[names].to_numpy())
    assert len(display.residuals_.get_data_3d()[0]) == 3 * len(frame)
    with pytest.raises(ValueError, match="'petals' is no feature"):
        ManifoldDisplay.from_estimator(sheet, features=["petals", names[0]])


def test_manifolds_refuse(fitted):
    curve = fitted[repr(Interval(5))]
    with pytest.raises(ValueError, match="beyond the 4 features"):
        ManifoldDisplay.from_estimator(curve, features=[0, 4])
    with pytest.raises(ValueError, match="two or in three features"):
        ManifoldDisplay.from_estimator(curve, features=[0])
    with pytest.raises(ValueError, match="joined to rows"):
        ManifoldDisplay(lines=[np.ones((2, 2))], images=np.ones((3, 2)))


# Convergence --------------------------------------------------------------------------------------


def test_terms_add_up_to_the_objective(fitted):
    curve = fitted[repr(Grid(4, 4))]
    display = ConvergenceDisplay.from_estimator(curve, lw=5)
    x, y = display.line_.get_data()
    assert np.asarray(x)[-1] == curve.n_iter_
    assert np.asarray(y) == pytest.approx(curve.history_["objective"])
    distortion, penalty = (np.asarray(line.get_ydata()) for line in display.term_lines_)
    assert distortion + penalty == pytest.approx(np.asarray(y)[1::2])
    assert display.line_.get_linewidth() == 5
    assert display.ax_.get_yscale() == "log"


def test_an_objective_alone():
    display = ConvergenceDisplay(objective=[2.0, 1.0, -1.0]).plot()
    assert display.ax_.get_yscale() == "linear"
    assert list(display.line_.get_xdata()) == [1, 2, 3]
    with pytest.raises(ValueError, match="one value of every term"):
        ConvergenceDisplay(objective=[1.0, 2.0, 3.0], terms={"a": [1.0, 2.0]})


def test_a_search_is_drawn_as_its_choice():
    search = PrincipalManifoldCV(
        PrincipalManifold(Interval(4), tol=0.05), lams=[0.1, 0.05], cv=2
    ).fit(X)
    chosen = search.best_estimator_
    (drawn,) = places(LatentMapDisplay.from_estimator(search))
    assert drawn[:, 0] == pytest.approx(chosen.embedding_[:, 0])
    (path,) = ManifoldDisplay.from_estimator(search).lines
    assert path == pytest.approx(ManifoldDisplay.from_estimator(chosen).lines[0])
    line = ConvergenceDisplay.from_estimator(search).line_
    assert np.asarray(line.get_ydata()) == pytest.approx(chosen.history_["objective"])


# Pictures -----------------------------------------------------------------------------------------


def test_pictures_stand_below_each_other():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 6))
    made = PCA(2).fit(rows)
    display = PreimageDisplay.from_estimator(made, rows[:3], image_shape=(2, 3), cmap="viridis")
    drawn = np.ma.filled(display.image_.get_array(), np.nan)
    assert drawn.shape == (5, 11)
    back = made.inverse_transform(made.transform(rows[:3]))
    for j in range(3):
        assert drawn[:2, 4 * j : 4 * j + 3] == pytest.approx(rows[j].reshape(2, 3))
        assert drawn[3:, 4 * j : 4 * j + 3] == pytest.approx(back[j].reshape(2, 3))
    assert np.isnan(drawn[2]).all()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["original", "reconstruction"]
    assert display.image_.get_cmap().name == "viridis"


def test_several_estimators_and_clean_pictures():
    rows = np.random.default_rng(0).normal(size=(20, 4))
    many = {"one": PCA(1).fit(rows), "two": PCA(2).fit(rows)}
    display = PreimageDisplay.from_estimator(many, rows, image_shape=(2, 2), clean=rows + 1.0)
    assert [*display.pictures] == ["clean", "given", "one", "two"]
    with pytest.raises(ValueError, match="rows of 6 numbers"):
        PreimageDisplay.from_estimator(many, rows, image_shape=(2, 3))


# Eigenvalues --------------------------------------------------------------------------------------


def test_eigenvalues_with_bounds_and_a_broken_stick():
    made = KernelPCA(4, eigen_solver="iterative", tol=1e-2).fit(X)
    display = EigenvalueDisplay.from_estimator(made, color="red")
    assert np.asarray(display.line_.get_ydata()) == pytest.approx(made.eigenvalues_)
    bars = np.stack(display.bars_.get_segments())
    assert bars[:, 1, 1] == pytest.approx(made.eigenvalues_ + made.eigenvalue_errors_)
    full = KernelPCA().fit(X)
    stick = full.eigenvalues_.sum() * broken_stick(len(X) - 1)[:4]
    assert np.asarray(display.reference_.get_ydata()) == pytest.approx(stick)
    bare = EigenvalueDisplay.from_estimator(made, reference=False, log=False)
    assert bare.reference_ is None
    assert bare.ax_.get_yscale() == "linear"


def test_negative_eigenvalues_are_crosses():
    display = EigenvalueDisplay(eigenvalues=[3.0, -2.0, 1.0]).plot()
    (x, y) = display.ax_.lines[1].get_data()
    assert (list(x), list(y)) == ([2], [2.0])
    assert display.bars_ is None
    with pytest.raises(ValueError, match="need 2 errors"):
        EigenvalueDisplay(eigenvalues=[1.0, 2.0], errors=[0.1])
    with pytest.raises(ValueError, match="cannot be among 1"):
        EigenvalueDisplay(eigenvalues=[1.0, 2.0], pieces=1)
