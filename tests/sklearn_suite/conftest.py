"""What scikit-learn's tests expect of the run around them."""

import pytest

from installed import SKLEARN
from sklearn_suite.shim import CLASSES, SKIPPED, TIGHT, tolerance


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: a marker of scikit-learn's test suite")


# Cubes of numbers around ten, for all pairs of ten digits, in five folds: forty seconds a case. The
# cubes of the other two samples stay.
SLOW = ("test_svc[", "-poly-X_train2-")


def pytest_collection_modifyitems(items):
    """Leave repetitions out, and let this library say of the sigmoid what is not said elsewhere."""
    items[:] = [item for item in items if not all(part in item.name for part in SLOW)]
    for item in items:
        if "sklearn_suite" in item.nodeid:
            if SKLEARN < (1, 9):
                older = "the list of what differs is of the suite of scikit-learn 1.9"
                item.add_marker(pytest.mark.skip(reason=older))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*is not positive definite on this"))


@pytest.fixture
def global_random_seed():
    """One of scikit-learn's seeds, the one that it uses by default."""
    return 42


@pytest.fixture(autouse=True)
def _prepare(request, monkeypatch):
    """Skip the cases and tighten the default tolerance of the tests listed as such."""
    suite, name = request.module.SUITE, request.node.originalname
    call = getattr(request.node, "callspec", None)
    for part, reason in SKIPPED.get(suite, {}).get(name, {}).items():
        if call is not None and part in call.id:
            pytest.skip(reason)
    if name in TIGHT.get(suite, ()):
        kernel = call and call.params.get("kernel")
        for cls in CLASSES.values():
            defaults = cls.__init__.__kwdefaults__
            monkeypatch.setitem(defaults, "tol", tolerance(kernel))
            if kernel == "poly":
                # Values of 1e7: pairs of coefficients would creep for ever to so many digits.
                monkeypatch.setitem(defaults, "solver", "interior_point")
