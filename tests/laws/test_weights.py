"""Weights of samples are finite and not negative, in every estimator and function."""

import inspect
import re
import warnings

import numpy as np
import pytest

from exported import estimators
from mercer import LSSVR, SVC, SVR, Nystrom
from mercer.data import as_source
from mercer.inspect.survival import interval_error
from mercer.kernels import Gaussian
from mercer.selection import leave_one_out, tune
from mercer.smoothing.scale import robust_scale
from mercer.smoothing.survival import kaplan_meier, turnbull
from mercer.smoothing.tube_width import fit_noise
from mercer_research.density import ChiSquareDensity, HistogramDensity
from mercer_research.fusion.additive_cv import fast_fusion
from mercer_research.linear.least_squares import least_squares
from mercer_research.linear.norms import residual_scale
from mercer_research.selection import FixedComplexity
from mercer_research.selection.folds import Folds

rng = np.random.default_rng(0)
N = 30
X, Z = rng.normal(size=(N, 2)), rng.uniform(size=N)
CODES = np.where(X[:, 0] > 0, 1, -1)
# One of these is a target of any estimator; the others may fail before weights are looked at.
TARGETS = [CODES, X[:, 1], X]
ONE_FEATURE = (ChiSquareDensity, HistogramDensity)
MADE = {
    FixedComplexity: lambda: FixedComplexity(LSSVR(), max_norm=1.0),
}
WEIGHED = [cls for cls in estimators() if "sample_weight" in inspect.signature(cls.fit).parameters]
BAD = {"negative": (-1.0, "-1"), "NaN": (np.nan, "NaN"), "infinite": (np.inf, "infinity")}
every_weight = pytest.mark.parametrize(("bad", "word"), BAD.values(), ids=BAD.keys())


def spoilt(bad):
    w = np.ones(N)
    w[3] = bad
    return w


@pytest.mark.parametrize("cls", WEIGHED, ids=lambda cls: cls.__name__)
@every_weight
def test_estimators(cls, bad, word):
    points = X[:, :1] if cls in ONE_FEATURE else X
    messages = []
    for y in TARGETS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises((ValueError, TypeError)) as error:
                MADE.get(cls, cls)().fit(points, y, sample_weight=spoilt(bad))
        messages.append(str(error.value))
    sentence = f"must be finite and not negative, got {word} for sample 3; use 0"
    assert any(f"sample_weight {sentence}" in message for message in messages), messages


FUNCTIONS = {
    "score of a regressor": lambda w: SVR().fit(X, Z).score(X, Z, w),
    "score of a classifier": lambda w: SVC().fit(X, CODES).score(X, CODES, w),
    "leave_one_out": lambda w: leave_one_out(LSSVR().fit(X, Z), X, Z, sample_weight=w),
    "tune": lambda w: tune(LSSVR(), X, Z, sample_weight=w),
    "robust_scale": lambda w: robust_scale(Z, weights=w),
    "fit_noise": lambda w: fit_noise(Z, weights=w),
    "kaplan_meier": lambda w: kaplan_meier(Z, Z > 0, w),
    "turnbull": lambda w: turnbull(Z, Z + 1.0, w),
    "least_squares": lambda w: least_squares(X, Z, w),
    "residual_scale": lambda w: residual_scale(X, Z, w),
    "interval_error": lambda w: interval_error(np.c_[Z, Z], Z, sample_weight=w),
    "fast_fusion": lambda w: fast_fusion(
        Gaussian(1.0)(X), Z, Folds(np.arange(N) % 5), np.ones((N, 1)), weights=w
    ),
}


@pytest.mark.parametrize("call", FUNCTIONS.values(), ids=FUNCTIONS.keys())
@every_weight
def test_functions(call, bad, word):
    sentence = re.escape(f"must be finite and not negative, got {word} for sample 3; use 0")
    with pytest.raises(ValueError, match=f"^(sample_weight|weights) {sentence}"):
        call(spoilt(bad))


def test_streams():
    source = as_source(X, Z, spoilt(-1.0))
    with pytest.raises(ValueError, match="row 3: the weight is negative; use 0 to leave a row out"):
        SVR(approximation=Nystrom(5)).fit(source)
