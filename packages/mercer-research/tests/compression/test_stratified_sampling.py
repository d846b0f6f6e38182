"""Terms by lot: no bias, an error known exactly, counts and rates, figures of the specification."""

import numpy as np
import pytest

from mercer.compression.expansions import as_functions
from mercer.kernels import Gaussian, Laplacian, StringSpectrum
from mercer_research.compression.stratified_sampling import draw_terms, stratified_terms, stratify


def atoms(n=400, seed=0):
    """Atoms with random signs on [-3, 3], whose weights sum up to one."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-3, 3, n))[:, None], rng.choice([-1.0, 1.0], n) / n


def far(kernel, X, a, few):
    d = np.array(a, dtype=float)
    d[few.index] -= few.coef
    return np.sqrt(np.sum(d * (kernel(X) @ d)))


@pytest.mark.parametrize("cells", ["kmeans", "farthest"])
@pytest.mark.parametrize("n", [8, 32])
def test_the_number_of_terms_and_the_bound_hold(cells, n):
    X, a = atoms()
    few = stratified_terms(Laplacian(1.0), X, a, n, cells=cells, draws=1)
    strata = few.strata
    assert len(few.index) <= strata.terms <= 2 * n
    assert len(np.unique(strata.labels)) <= n
    assert strata.expected <= strata.bound
    assert few.distance == pytest.approx(far(Laplacian(1.0), X, a, few), rel=1e-6)


def test_draws_have_no_bias_and_the_error_that_is_told():
    """Means over 800 draws, of values and of squared distances, within four standard errors."""
    X, a = atoms(60)
    kernel = Laplacian(1.0)
    f = as_functions(kernel, X, a)
    strata = stratify(f, 6)
    values, squares = [], []
    for seed in range(800):
        terms, distance = draw_terms(f, strata, 1, False, seed)
        values.append(kernel([[0.5]], terms.points)[0] @ terms.coef[:, 0])
        squares.append(distance**2)
    values, squares = np.array(values), np.array(squares)
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - kernel([[0.5]], X)[0] @ a) <= 4 * error
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - strata.expected**2) <= 4 * error


def test_the_figures_of_the_specification():
    """Root mean square over 200 draws, from one sample; and a rate of 1/n."""
    printed = {8: 0.171, 16: 0.088, 32: 0.047, 64: 0.023, 128: 0.011}
    X, a = atoms()
    f = as_functions(Laplacian(1.0), X, a)
    ours = np.array([stratify(f, n).expected for n in printed])
    # Another sample and other cells: within a third, and halved at every doubling as there.
    np.testing.assert_allclose(ours, list(printed.values()), rtol=1 / 3)
    slope = np.polyfit(np.log(list(printed)), np.log(ours), 1)[0]
    assert -1.2 < slope < -0.85


def test_best_of_draws_and_new_weights_only_help():
    X, a = atoms()
    once = stratified_terms(Laplacian(1.0), X, a, 16, draws=1, refit=False)
    often = stratified_terms(Laplacian(1.0), X, a, 16, draws=20, refit=False)
    fitted = stratified_terms(Laplacian(1.0), X, a, 16, draws=20)
    assert fitted.distance < often.distance < once.distance


def test_several_functions_share_their_draws():
    X, a = atoms(80)
    A = np.column_stack([a, np.abs(a) * np.sin(X[:, 0])])
    kernel = Gaussian(0.5)
    f = as_functions(kernel, X, A)
    strata = stratify(f, 10)
    squares = []
    for seed in range(300):
        terms, distance = draw_terms(f, strata, 1, False, seed)
        squares.append(distance**2)
        assert terms.coef.shape == (len(terms.index), 2)
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - strata.expected**2) <= 4 * error
    d = A.copy()
    d[terms.index] -= terms.coef
    assert distance == pytest.approx(np.sqrt(np.sum(d * (kernel(X) @ d))), rel=1e-6)


def test_strings_have_cells_too():
    words = np.array(["aaaa", "aaab", "bbbb", "bbba"], dtype=object)
    few = stratified_terms(StringSpectrum(2), words, [1.0, 1.0, -1.0, -1.0], 2)
    assert few.strata.labels[0] == few.strata.labels[1] != few.strata.labels[2]


def test_cells_may_be_given():
    X, a = atoms(40)
    few = stratified_terms(Laplacian(1.0), X, a, 2, cells=np.where(a > 0, 7, 3))
    assert len(few.strata.sizes) == 2
    with pytest.raises(ValueError, match="40 terms need as many labels, got 2"):
        stratified_terms(Laplacian(1.0), X, a, 2, cells=[0, 1])
    with pytest.raises(ValueError, match="at least one cell"):
        stratified_terms(Laplacian(1.0), X, a, 0)
    with pytest.raises(ValueError, match="use 'farthest'"):
        stratified_terms(Laplacian(1.0), X, np.column_stack([a, a]), 2, cells="kmeans")
    with pytest.raises(ValueError, match="cells must be one of"):
        stratified_terms(Laplacian(1.0), X, a, 2, cells="grid")


@pytest.mark.parametrize("signs", [1.0, -1.0])
@pytest.mark.parametrize("n", [1, 5])
def test_one_sign_or_one_cell(signs, n):
    X, a = atoms(30)
    few = stratified_terms(Laplacian(1.0), X, signs * np.abs(a), n)
    assert len(few.index) <= 2 * n
    both = stratified_terms(Laplacian(1.0), X, a, 1)
    assert len(both.index) == 1
