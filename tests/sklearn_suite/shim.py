"""Load scikit-learn's own SVM tests with this library's classes in the place of scikit-learn's."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import sklearn
import sklearn.svm

import mercer

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
CLASSES = {name: getattr(mercer, name) for name in NAMES}
FOLDER = Path(sklearn.svm.__file__).parent / "tests"

ELSEWHERE: dict[str, dict[str, str]] = {
    "test_svm": {
        "test_dual_auto": "a function of scikit-learn's",
        "test_dual_auto_edge_cases": "a function of scikit-learn's",
    },
    "test_sparse": {},
}
"""Tests left out because they are not about these classes, with what they are about."""

NEGATIVE = "negative weights raise an error, tests/laws/test_weights.py; zero leaves samples out"

DECLINED = {
    "test_svm": {
        "test_libsvm_convergence_warnings": "LIBSVM needs more than two steps for six points, "
        "the pair steps here converge in two; and LIBSVM's wording. Our warning is tested in "
        "tests/estimators/test_budget.py",
        "test_linear_svm_convergence_warnings": "LIBLINEAR's wording; our warning is tested in "
        "tests/estimators/test_linear.py",
        "test_negative_sample_weights_mask_all_samples": NEGATIVE,
        "test_negative_weight_equal_coeffs": NEGATIVE,
        "test_negative_weights_svc_leave_just_one_label": NEGATIVE,
        "test_negative_weights_svc_leave_two_labels": NEGATIVE,
        "test_svc_nusvc_probA_probB_deprecated": "Platt's parameters per pair, deprecated by "
        "scikit-learn; probabilities are composed from CalibratedClassifierCV instead",
        "test_svr_errors": "a kernel function that returns a wrong shape is refused by fit already",
    },
    "test_sparse": {
        "test_linearsvc": "its parameters are an iterator, of which pytest warns; sparse and dense "
        "rows are compared in tests/estimators/test_linear.py",
        "test_timeout": "LIBSVM needs more than one step for six points, a pair step here solves "
        "them; and LIBSVM's wording",
    },
}
"""Tests of these classes that are left out, with the reason."""

SKIPPED = {
    "test_sparse": {
        "test_sparse_oneclasssvm": {
            "rbf-X_train1": "a test point is a support vector inside its bounds, where the sign "
            "of the decision function is rounding",
            "rbf-X_train3": "one flower twice: only the sum of two coefficients is determined",
        }
    }
}
"""Cases of tests (part of their identifier) that are skipped, with the reason.

The test compares them between two ways to compute the same kernel matrix.
"""

TIGHT = {
    "test_svm": {"test_precomputed", "test_svc_clone_with_callable_kernel"},
    "test_sparse": {"test_sparse_oneclasssvm", "test_svc", "test_svc_iris"},
}
"""Tests that run with a tighter default tolerance.

They compare coefficients to seven digits between two ways to compute the same kernel matrix.
LIBSVM takes the same path for both because it adds up every inner product in the same order; matrix
products do not, and coefficients are determined only as far as ``tol`` says.
"""


def tolerance(kernel: str | None) -> float:
    """Return the tolerance for those tests: three digits beyond the seven that are compared.

    The polynomial kernel reaches 1e7 on the blobs, where decision values are rounded at 1e-9.
    """
    return 1e-9 if kernel == "poly" else 1e-10


def functions(module: str) -> dict[str, ast.FunctionDef]:
    """Return the test functions that an installed test module defines."""
    tree = ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def concerns(function: ast.FunctionDef) -> bool:
    """Whether a test, its decorators included, mentions one of the classes."""
    return any(
        (isinstance(node, ast.Name) and node.id in CLASSES)
        or (isinstance(node, ast.Attribute) and node.attr in CLASSES)
        for node in ast.walk(function)
    )


def load(module: str) -> dict[str, Any]:
    """Execute an installed test module against this library and return the tests that are to run.

    Whatever was imported on the way is forgotten, so that nobody else meets the replaced classes.
    """
    original, known = sklearn.svm, set(sys.modules)
    replaced = ModuleType("sklearn.svm")
    vars(replaced).update({**vars(original), **CLASSES})
    spec = importlib.util.spec_from_file_location(f"scikit_learn_{module}", FOLDER / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["sklearn.svm"] = sklearn.svm = replaced
    try:
        spec.loader.exec_module(loaded)
    finally:
        sys.modules["sklearn.svm"] = sklearn.svm = original
        for name in set(sys.modules) - known:
            if name.startswith("sklearn.svm.tests"):
                del sys.modules[name]
    left_out = ELSEWHERE[module].keys() | DECLINED[module].keys()
    return {name: getattr(loaded, name) for name in functions(module) if name not in left_out}
