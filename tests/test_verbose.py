"""An estimator whose fit can take a while says how it ended when asked, and nothing otherwise."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier
from sklearn.linear_model import Ridge

from exported import estimators
from mercer import (
    LSSVR,
    SVC,
    SVR,
    AutoClassifier,
    AutoRegressor,
    ConformalRegressor,
    Forecaster,
    Nystrom,
    ShapeConstrainedRegressor,
    UniversalKriging,
)
from mercer._fitting import ending
from mercer.estimators import SparseAdditiveClassifier, SparseAdditiveRegressor
from mercer.manifold import PrincipalCurve, PrincipalManifold
from mercer.regularizers import Increasing
from mercer.selection import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer_research.density import KernelCDF
from mercer_research.estimators import AdaptiveMarginSVC, HardMarginSVC, RegimeSwitchingRegressor
from mercer_research.fusion import SparseSubstrate, SparseSubstrateClassifier
from mercer_research.linear import MarginBoost, PlausibleLeastSquares, RBFNetwork
from mercer_research.manifold import KPlanes, PrincipalManifoldCV, VectorQuantizer
from mercer_research.selection import FixedComplexity, ThresholdSelector

# Fits too short for a line, with the reason.
MOMENTS = {
    "ChiSquareDensity": "a program of as many variables as there are knots, ten by default",
    "EmpiricalCDF": "sorts the sample",
    "GaussianDensity": "takes the mean and the covariance",
    "HistogramDensity": "counts the samples in bins",
    "ParzenWindow": "keeps the sample and reads a width off its deviation",
}

# Settings that a fit needs, or that make it short.
FEW = {"gamma": "auto", "approximation": Nystrom(20, n_jobs=1)}
MADE = {
    **{cls.__name__: cls(budget=2) for cls in (LSSVRCV, LSSVCCV, SVRCV, SVCCV)},
    **{cls.__name__: cls(members=["matern"]) for cls in (AutoRegressor, AutoClassifier)},
    "FixedComplexity": FixedComplexity(SVR(), max_norm=1.0),
    "Forecaster": Forecaster(LSSVR(), lags=2),
    "KPlanes": KPlanes(2),
    "KernelCDF": KernelCDF(gamma=0.5, C=1.0, lines=2, grid=4),
    "MarginBoost": MarginBoost(n_estimators=3),
    "PrincipalCurve": PrincipalCurve(max_iter=3),
    "PrincipalManifold": PrincipalManifold(lam=1.0, max_iter=3),
    "PrincipalManifoldCV": PrincipalManifoldCV(
        PrincipalManifold(max_iter=3), lams=[1.0], latents=[1], cv=2
    ),
    "RBFNetwork": RBFNetwork(5),
    "SparseAdditiveClassifier": SparseAdditiveClassifier(mu=1.0, C=1.0),
    "SparseAdditiveRegressor": SparseAdditiveRegressor(mu=1.0, C=1.0),
    **{cls.__name__: cls(zeta=0.1) for cls in (SparseSubstrate, SparseSubstrateClassifier)},
    "PlausibleLeastSquares": PlausibleLeastSquares(0.05),
    "ThresholdSelector": ThresholdSelector(SVC()),
    "VectorQuantizer": VectorQuantizer(3),
}
ESTIMATORS = {cls.__name__: cls for cls in estimators() if issubclass(cls, BaseEstimator)}

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (24, 2))
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=24)
LABELS = np.where(X[:, 0] > 0, "right", "left")


def fit(machine):
    """Fit a machine to a sample that it understands."""
    name = type(machine).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "Forecaster":
            return machine.fit(Y)
        if name == "MultiOutputSVR":
            return machine.fit(X, X)
        labels = is_classifier(machine) or name == "ThresholdSelector"
        return machine.fit(X[:, :1] if name == "SmoothingSpline" else X, LABELS if labels else Y)


def lines(capsys, machine):
    """Fit a machine; return what it wrote."""
    capsys.readouterr()
    fit(machine)
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()


def test_whoever_is_silent_has_a_reason():
    silent = {n for n, cls in ESTIMATORS.items() if "verbose" not in cls._get_param_names()}
    assert silent == set(MOMENTS)


@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - MOMENTS.keys()))
def test_the_last_line_says_how_the_fit_ended(name, capsys):
    made = MADE.get(name) or ESTIMATORS[name]()
    assert made.verbose is (None if name in ("AutoClassifier", "AutoRegressor") else False)
    assert lines(capsys, made) == []
    said = lines(capsys, made.set_params(verbose=1))
    assert all(line.startswith(name) for line in said)
    # Of a solution status, objective and gap, else numbers that say how far it came.
    if hasattr(made, "solution_"):
        assert f": objective {made.solution_.objective:.6g}, certified within " in said[-1]
        status = getattr(made.solution_, "status", None)
        assert ("optimal" if status is None else status.value) in said[-1]
        assert said[-1].endswith(("of the optimum", "without a certificate"))
    assert re.search(r"\d", said[-1])


def test_a_fit_within_a_fit_of_the_same_machine_has_one_end(capsys):
    """``approximation="auto"`` fits a copy, and ``fit_transform`` fits itself."""
    capsys.readouterr()
    SVR(approximation="auto", verbose=1).fit(X, Y)
    err = capsys.readouterr().err
    assert err.count("converged") == 1
    assert err.startswith("SVR: Exact: 24 rows take seconds.")
    VectorQuantizer(3, verbose=1).fit_transform(X)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_fit_that_fails_has_no_end(capsys):
    with pytest.raises(ValueError, match="NaN"):
        SVR(verbose=1).fit(np.full((3, 1), np.nan), np.ones(3))
    assert capsys.readouterr().err == ""


class TestOneLineEach:
    """Machines inside others are silent; each of them is a line of the whole."""

    def test_trials(self, capsys):
        said = lines(capsys, machine := LSSVRCV(budget=3, verbose=1))
        assert len(said) == len(machine.tuning_.trials_) + 1
        assert all(re.fullmatch(r"LSSVRCV: .+, \d+ rows, .+ s: .+ at C=.+", s) for s in said[:-1])
        assert f"C={machine.C_:.4g}" in said[-1]

    @pytest.mark.parametrize("inner", [SVR(), Ridge()], ids=["ours", "another library's"])
    def test_folds_of_intervals(self, inner, capsys):
        machine = ConformalRegressor(inner, method="cv+", cv=4, scale="constant", verbose=1)
        said = lines(capsys, machine)
        assert [s.split(": ")[1] for s in said[:-1]] == [f"fold {k} of 4" for k in (1, 2, 3, 4)]
        assert said[-1].endswith(f"{type(inner).__name__}, {ending(machine.estimator_)}")

    def test_many_folds_are_at_most_a_hundred_lines(self, capsys):
        x = np.linspace(0, 6, 150)[:, None]
        machine = ConformalRegressor(Ridge(), method="jackknife+", scale="constant", verbose=1)
        machine.fit(x, np.sin(x[:, 0]))
        assert 50 < len(capsys.readouterr().err.splitlines()) <= 101

    def test_horizons(self, capsys):
        machine = Forecaster(LSSVR(), lags=2, strategy="direct", steps=3, verbose=1)
        said = lines(capsys, machine)
        assert [s.split(": ")[1] for s in said[:-1]] == [f"horizon {k}" for k in (1, 2, 3)]
        for line, inner in zip(said, machine.estimators_, strict=False):
            assert line.endswith(inner.solution_.summary()[0])

    def test_rounds_of_regimes(self, capsys):
        machine = RegimeSwitchingRegressor(n_rounds=4, verbose=1)
        said = lines(capsys, machine)
        errors = [float(s.rsplit(" ", 1)[1]) for s in said]
        np.testing.assert_allclose(errors[:-1], machine.errors_, rtol=1e-5)
        assert str(np.bincount(machine.labels_, minlength=2).tolist()) in said[-1]

    def test_folds_of_components(self, capsys):
        machine = SparseAdditiveRegressor(cv=3, n_mus=4, verbose=1)
        said = lines(capsys, machine)
        assert [s.split(": ")[1] for s in said[:-1]] == [f"fold {k} of 3" for k in (1, 2, 3)]
        assert f"{machine.selected_.sum()} of 2 components" in said[-1]

    def test_rounds_of_constraints(self, capsys):
        machine = ShapeConstrainedRegressor([Increasing(0)], verbose=1)
        said = lines(capsys, machine)
        rounds = machine.shape_certificate_.rounds
        assert [s.split(": ")[1] for s in said[:-1]] == [f"round {k + 1}" for k in range(rounds)]

    @pytest.mark.parametrize("machine", [AdaptiveMarginSVC(verbose=1), HardMarginSVC(verbose=1)])
    def test_pairs_of_classes(self, machine, capsys):
        three = np.where(X[:, 1] > 0.5, "top", LABELS)
        machine.set_params(kernel="rbf", gamma=10.0).fit(X, three)
        text = capsys.readouterr().err
        for pair in ("left or right", "left or top", "right or top"):
            assert pair in text

    def test_likelihoods_of_kriging(self, capsys):
        said = lines(capsys, UniversalKriging(nugget=0.1, optimize=True, verbose=1))
        assert re.fullmatch(r"UniversalKriging, likelihood: \d+ evaluations \[.+", said[0])
        assert "restricted log-likelihood" in said[-1]
