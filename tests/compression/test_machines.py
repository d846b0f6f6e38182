"""Compression reads a machine through two methods, and a machine returns what it was given."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mercer.compression
from compressible import MACHINES, fitted, points, values
from mercer import LSSVC, LSSVR, SVC, OneClassSVM
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom, RandomFeatures

ROOM = Path(mercer.compression.__file__).parent
METHODS = {"_expansion", "_with_expansion"}


def private_reads(source):
    """Return private attributes of objects other than ``self``, read by dot or by name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # getattr(machine, "_report"), machine.__dict__.pop("_last"), f"_{method}"
            found.add(node.value)
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def test_compression_reads_machines_through_two_methods():
    read = {path.name: private_reads(path.read_text("utf-8")) for path in ROOM.glob("*.py")}
    assert {name: found - METHODS for name, found in read.items() if found - METHODS} == {}
    assert set.union(*read.values()) == METHODS


@pytest.mark.parametrize(
    "line",
    [
        "machine._report = None",
        "seen.machine._tol_fit",
        "getattr(machine, '_voting', False)",
        "machine.__dict__.pop('_last', None)",
        "getattr(self, f'_{method}')()",
    ],
)
def test_private_reads_are_found(line):
    assert len(private_reads(line)) == 1
    assert not private_reads("self._aim + machine.kernel_ + cls._few")


@pytest.mark.parametrize("name", MACHINES)
def test_an_expansion_makes_the_machine_again(name):
    machine = fitted(name)
    X = points(machine)
    expansion = machine._expansion()
    again = machine._with_expansion(expansion)
    assert again is not machine
    np.testing.assert_array_equal(values(again, X), values(machine, X))
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    for attribute in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_"):
        np.testing.assert_array_equal(getattr(again, attribute), getattr(machine, attribute))
    assert expansion.allowed.shape == (expansion.groups.max() + 1, expansion.coef.shape[1])
    f = expansion(expansion.check(X))
    if expansion.by_group and len(machine.classes_) == 2:
        f = f[:, 0]
    # Two sums of the same terms in float64, for which predictions promise 1e-12 of their sizes.
    sizes = np.abs(expansion.kernel(X, expansion.points)) @ np.abs(expansion.coef)
    np.testing.assert_allclose(
        f.reshape(values(machine, X).shape), values(machine, X), rtol=0.0, atol=1e-12 * sizes.max()
    )


@pytest.mark.parametrize(
    "machine",
    [
        SVC(decision_function_shape="ovo", approximation=Nystrom(40)),
        LSSVC(approximation=Nystrom(40)),
        LSSVC(kernel=lambda A, B: Gaussian(1.0)(A, B)),
        SVC(kernel=lambda A, B: Gaussian(1.0)(A, B)),
    ],
    ids=["votes", "landmarks", "codes of a function", "pairs of a function"],
)
def test_landmarks_and_plain_functions_make_the_machine_again(machine):
    X, y = points(fitted("SVC")), fitted("SVC").predict(points(fitted("SVC")))
    machine.fit(X, y)
    again = machine._with_expansion(machine._expansion())
    # A function is compared with fewer samples then: sums of the same terms, kernel values <= 1.
    atol = 1e-12 * np.abs(machine.dual_coef_).sum()
    np.testing.assert_allclose(values(again, X), values(machine, X), rtol=0.0, atol=atol)
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    np.testing.assert_array_equal(again.dual_coef_, machine.dual_coef_)


def test_sparse_points_keep_their_type():
    X = sparse.csr_array(points(fitted("LSSVR")))
    machine = LSSVR().fit(X, np.arange(X.shape[0]) % 7.0)
    again = machine._with_expansion(machine._expansion())
    assert type(again.support_vectors_) is type(machine.support_vectors_)
    assert type(again.dual_coef_) is type(machine.dual_coef_)
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))


def test_samples_known_by_number_have_no_values_elsewhere():
    X = points(fitted("LSSVR"))
    expansion = OneClassSVM(kernel="precomputed").fit(Gaussian(1.0)(X))._expansion()
    assert expansion.kernel is None
    assert expansion.matrix is None
    np.testing.assert_array_equal(expansion.points, expansion.index)
    with pytest.raises(ValueError, match="no values at other points"):
        expansion(X)


def test_random_features_are_no_expansion():
    X = points(fitted("LSSVR"))
    machine = LSSVR(approximation=RandomFeatures(20)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="no expansion of its kernel"):
        machine._expansion()
