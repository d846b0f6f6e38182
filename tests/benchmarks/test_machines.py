"""Contenders behind one face: the same answers, and the bare limit computes what it says."""

import importlib.util

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.contenders import machines
from benchmarks.contenders.judge import judge
from benchmarks.contenders.machines import LIBRARIES, Bare, Problem, sorted_by_class

PROBLEMS = [
    Problem("SVC", "hastie", 300, 50, 0.1, {"C": 1.0}),
    Problem("SVC", "digits", 300, 50, 1 / 64, {"C": 10.0}),
    Problem("NuSVC", "breast_cancer", 300, 50, 1 / 30, {"nu": 0.1}),
    Problem("SVR", "friedman1", 300, 50, 0.1, {"C": 1.0, "epsilon": 0.1}),
    Problem("NuSVR", "friedman1", 300, 50, 0.1, {"C": 1.0, "nu": 0.5}),
    Problem("OneClassSVM", "hastie", 300, 50, 0.1, {"nu": 0.2}),
]


@pytest.mark.skipif(not importlib.util.find_spec("libsvm"), reason="LIBSVM is not installed")
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.machine}-{p.data}")
def test_libsvm_finds_what_scikit_learn_finds(problem):
    sample = problem.sample()
    verdicts, predictions = [], []
    for name in ("LIBSVM", "scikit-learn"):
        library = LIBRARIES[name][1](1)
        library.prepare(problem, sample)
        library.fit()
        predictions.append(library.predict())
        verdicts.append(judge(problem, sample, library.learned()))
    ours, theirs = verdicts
    # One algorithm, compiled twice: the last digits of the path may differ, the tolerance not.
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)
    assert ours.violation <= 1.001e-3
    np.testing.assert_allclose(predictions[0], predictions[1], atol=5e-3)


def test_classes_in_any_order_give_the_same_coefficients():
    problem = PROBLEMS[1]
    sample = problem.sample()
    machine = SVC(**problem.parameters()).fit(sample.X, sample.y)
    order = np.random.default_rng(0).permutation(len(machine.classes_))
    labels = machine.classes_[order]
    y = sample.y[machine.support_]
    # As a library would give them that counts classes as they appear.
    given = np.zeros_like(machine.dual_coef_)
    for s, own in enumerate(y):
        p = int(np.flatnonzero(labels == own)[0])
        for q, other in enumerate(labels):
            if q != p:
                i, j = int(own), int(other)
                value = machine.dual_coef_[j - (j > i), s]
                given[q - (q > p), s] = abs(value) if p < q else -abs(value)
    found = sorted_by_class(machine.support_, given, labels, y)
    np.testing.assert_array_equal(found["support_"], machine.support_)
    np.testing.assert_array_equal(found["dual_coef_"], machine.dual_coef_)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("problem", PROBLEMS[:2], ids=lambda p: f"{p.machine}-{p.data}")
def test_bare_multiplies_the_kernel_block_by_the_coefficients(problem, threads, monkeypatch):
    monkeypatch.setattr(machines, "BLOCK_BYTES", 10_000)
    sample = problem.sample()
    machine = SVC(**problem.parameters()).fit(sample.X, sample.y)
    given = {name: getattr(machine, name) for name in ("support_", "dual_coef_", "classes_")}
    bare = Bare(threads)
    bare.prepare(problem, sample, given)
    parts = bare.predict()
    K = rbf_kernel(sample.X_test, sample.X[machine.support_], gamma=problem.gamma)
    expected = K @ machine.dual_coef_.T
    # Exponents of at most 20 in float32, so kernel values to 20 times its spacing.
    error = 20 * 2**-23 * np.abs(machine.dual_coef_).sum()
    np.testing.assert_allclose(sum(parts), expected, rtol=0, atol=error)
    assert len(parts) == (1 if len(machine.classes_) == 2 else 10)


@pytest.mark.parametrize("threads", [1, 2])
def test_bare_computes_every_value_once(threads, monkeypatch):
    monkeypatch.setattr(machines, "BLOCK_BYTES", 10_000)
    problem = PROBLEMS[0]
    sample = problem.sample()
    support = np.arange(0, 300, 2)
    bare = Bare(threads)
    bare.prepare(problem, sample, {"support_": support, "dual_coef_": np.ones((1, 150))})
    blocks = []
    bare._blocks(bare.rows, lambda K, rows: blocks.append((rows.start, K.copy())))
    K = np.concatenate([block for _, block in sorted(blocks, key=lambda pair: pair[0])])
    expected = rbf_kernel(sample.X, sample.X[support], gamma=problem.gamma)
    np.testing.assert_allclose(K, expected, rtol=0, atol=20 * 2**-23)
    assert len(blocks) > 1
