"""Constructors made of declared fields behave as constructors that were written out."""

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from exported import estimators
from mercer import LSSVR, KernelRegressor
from mercer._settings import KW_ONLY, fixed, settings
from mercer.estimators import HuberSVR


@settings
class Family(BaseEstimator):
    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int = -1

    _parameter_constraints: ClassVar[dict[str, Any]] = {"tol": [float], "C": [float]}


@settings
class Machine(Family):
    loss: Any
    kernel: str = "rbf"
    _: KW_ONLY
    C: float = 1.0
    tol: float = 1e-6
    max_iter: int = fixed(100)

    _calls: int = fixed(0)
    _parameter_constraints: ClassVar[dict[str, Any]] = {"tol": [int]}


MADE = sorted(
    {cls for cls in estimators() if "_own_fields" in vars(cls)}, key=lambda cls: cls.__name__
)


def test_positional_parameters_stand_in_the_order_of_their_fields():
    machine = Machine("squared", "linear", C=3.0)
    assert machine.get_params() == {"loss": "squared", "kernel": "linear", "C": 3.0, "tol": 1e-6}
    with pytest.raises(TypeError, match=r"Machine.__init__\(\) takes .* positional"):
        Machine("squared", "linear", 3.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'loss'"):
        Machine()


def test_a_fixed_attribute_is_no_parameter():
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_iter'"):
        Machine("squared", max_iter=5)
    assert (Machine("squared").max_iter, Machine("squared")._calls) == (100, 0)
    assert Family(max_iter=5).max_iter == 5


def test_constraints_of_the_nearest_class_decide_and_those_without_a_parameter_go():
    assert Machine._parameter_constraints == {"tol": [int], "C": [float]}
    assert Family._parameter_constraints == {"tol": [float]}


def test_a_derived_class_may_write_its_constructor_out():
    class Derived(Machine):
        def __init__(self, loss="squared", *, depth=2):
            super().__init__(loss)
            self.depth = depth

    assert clone(Derived(depth=3)).get_params() == {"loss": "squared", "depth": 3}


def test_two_fits_with_the_same_settings_are_two_objects():
    """Dask makes the key of a dataclass from its fields, which a fit does not change."""
    dask = pytest.importorskip("dask.base")
    X = np.linspace(0, 1, 20)[:, None]
    first, second = HuberSVR().fit(X, X[:, 0]), HuberSVR().fit(X, -X[:, 0])
    assert dask.tokenize(first) != dask.tokenize(second)
    assert first != HuberSVR().fit(X, X[:, 0])
    assert repr(first) == "HuberSVR()"


def test_every_large_estimator_is_among_them():
    assert {LSSVR, HuberSVR, KernelRegressor} <= set(MADE)
    assert len(MADE) > 60


@pytest.mark.parametrize("cls", MADE, ids=lambda cls: cls.__name__)
def test_a_type_checker_sees_the_same_constructor(cls):
    """Type checkers put fields of base classes first and take all annotations for parameters."""
    for base in cls.__mro__[1:]:
        kinds = {name: how for name, how in vars(base).get("_own_fields", {}).items() if how}
        assert all(kw_only for _, _, kw_only in kinds.values()), base
    for base in cls.__mro__:
        if "_own_fields" in vars(base):
            seen = {name for name, kind in base.__annotations__.items() if "ClassVar" not in kind}
            assert seen - {"_"} == vars(base)["_own_fields"].keys(), base
