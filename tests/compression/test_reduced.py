"""Machines over few centres are compressed like others; those of random features are not."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer_research.compression  # noqa: F401  adds "stratified" and "sup"
from mercer import LSSVC, LSSVR, SVC
from mercer.compression import compress
from mercer.kernels import ThinPlate
from mercer.reduced import Nystrom, RandomFeatures

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "machine",
    [
        SVC(decision_function_shape="ovo"),
        LSSVC(C=10.0),
        LSSVR(C=10.0),
        LSSVR(ThinPlate(2).on([0, 1]), C=10.0),
    ],
    ids=["SVC", "LSSVC", "LSSVR", "thin plate"],
)
@pytest.mark.parametrize("method", ["greedy", "sup"])
def test_centres_are_terms(machine, method):
    machine.set_params(approximation=Nystrom(60)).fit(X, y)
    how = {"n_centres": 20} if method == "greedy" else {"error": 0.2}
    small = compress(machine, X, method=method, **how)
    told = small.compression_
    read = (
        getattr(type(machine), "column_decision", getattr(type(machine), "decision_function", None))
        or type(machine).predict
    )
    change = np.abs(read(machine, X) - read(small, X)).max()
    assert change == pytest.approx(told.sup_error, rel=1e-6, abs=told.radius * told.rounding)
    assert told.n_after == small.n_support_.sum() == len(small.support_vectors_)
    assert told.n_before <= 60


def test_random_features_are_no_terms():
    machine = LSSVR(approximation=RandomFeatures(50)).fit(X, y)
    with pytest.raises(ValueError, match="no expansion of its kernel"):
        compress(machine, n_centres=5)
