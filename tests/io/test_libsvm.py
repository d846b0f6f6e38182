"""LIBSVM's model files: read as LIBSVM reads them, written so that it reads them."""

import re

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import mercer
from mercer.io import CannotConvert, ModelFileError, read_libsvm, write_libsvm

RNG = np.random.default_rng(0)
# LIBSVM itself writes support vectors with eight digits.
X = np.round(RNG.normal(size=(60, 4)), 4) * (RNG.uniform(size=(60, 4)) > 0.2)
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=60)
TWO, FOUR = np.where(Y > 0, 3, -7), np.digitize(Y, [-1.0, 0.0, 1.0]) - 2
NEW = RNG.normal(size=(20, 4))
KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 0.7},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.1},
}
MACHINES = {
    "SVC two": ("SVC", {}, TWO),
    "SVC four": ("SVC", {}, FOUR),
    # Of two classes: LIBSVM's Python has room for one value of a nu_svc, and overwrites memory.
    "NuSVC": ("NuSVC", {"nu": 0.2}, TWO),
    "SVR": ("SVR", {}, Y),
    "NuSVR": ("NuSVR", {}, Y),
    "OneClassSVM": ("OneClassSVM", {"nu": 0.2}, None),
}
TYPES = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}
NUMBERS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
ALL = [(machine, kernel) for machine in MACHINES for kernel in KERNELS]


def values(model, points):
    method = "predict" if not hasattr(model, "decision_function") else "decision_function"
    return np.asarray(getattr(model, method)(points))


@pytest.mark.filterwarnings("ignore:Sigmoid:UserWarning")
@pytest.mark.parametrize(("machine", "kernel"), ALL)
def test_round_trip(tmp_path, machine, kernel):
    cls, settings, y = MACHINES[machine]
    model = getattr(mercer, cls)(**settings, **KERNELS[kernel]).fit(X, y)
    write_libsvm(model, tmp_path / "model")
    found = read_libsvm(tmp_path / "model")
    assert type(found) is type(model)
    # Numbers are written with all digits; only gamma of a Gaussian is turned into its width.
    tolerance = 0.0 if kernel != "rbf" else 1e-12
    assert np.max(np.abs(values(found, NEW) - values(model, NEW))) <= tolerance * np.max(
        np.abs(values(model, NEW))
    ) + (0.0 if kernel != "rbf" else 1e-15)
    assert np.array_equal(found.predict(NEW) > 0, model.predict(NEW) > 0)


@pytest.mark.parametrize(("machine", "kernel"), ALL)
def test_files_of_libsvm(tmp_path, machine, kernel):
    """LIBSVM itself writes and predicts, with labels in the order of their appearance."""
    svmutil = pytest.importorskip("libsvm.svmutil")
    cls, settings, y = MACHINES[machine]
    given = KERNELS[kernel]
    options = f"-s {TYPES[cls]} -t {NUMBERS[kernel]} -q"
    for key, flag in (("gamma", "g"), ("degree", "d"), ("coef0", "r")):
        options += f" -{flag} {given[key]}" if key in given else ""
    options += f" -n {settings['nu']}" if "nu" in settings else ""
    target = np.ones(len(X)) if y is None else y
    trained = svmutil.svm_train(target.tolist(), X.tolist(), options)
    svmutil.svm_save_model(str(tmp_path / "theirs"), trained)
    theirs = svmutil.svm_load_model(str(tmp_path / "theirs"))
    ours = read_libsvm(tmp_path / "theirs", n_features=4)
    labels, _, decisions = svmutil.svm_predict([1.0] * len(NEW), NEW.tolist(), theirs, "-q")
    assert np.array_equal(np.asarray(labels) > 0, np.asarray(ours.predict(NEW)) > 0)
    decisions = np.asarray(decisions)
    found = ours._pairs(NEW) if hasattr(ours, "classes_") else values(ours, NEW)[:, None]
    if hasattr(ours, "classes_"):
        # Pairs in the order of the file's labels, with the sign of the first of them.
        order = theirs.get_labels()
        place = {label: k for k, label in enumerate(ours.classes_)}
        pairs = {pair: d for d, pair in enumerate(ours._class_pairs())}
        columns = []
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                a, b = place[order[i]], place[order[j]]
                columns.append(found[:, pairs[min(a, b), max(a, b)]] * (1.0 if a < b else -1.0))
        found = np.column_stack(columns)
        assert np.array_equal(labels, ours.predict(NEW))
    np.testing.assert_allclose(found, decisions, rtol=1e-9, atol=1e-9 * np.std(decisions))
    # And back, where LIBSVM reads what was written here.
    write_libsvm(ours, tmp_path / "ours")
    again = svmutil.svm_load_model(str(tmp_path / "ours"))
    labels_again, _, _ = svmutil.svm_predict([1.0] * len(NEW), NEW.tolist(), again, "-q")
    np.testing.assert_allclose(labels_again, labels, rtol=1e-9)


def test_coefficients_of_scikit_learn_written_by_hand(tmp_path):
    """The format needs no library: a file made of another's coefficients says the same."""
    theirs = sklearn.svm.SVR(gamma=0.3, C=2.0).fit(X, Y)
    lines = ["svm_type epsilon_svr", "kernel_type rbf", "gamma 0.3", "nr_class 2"]
    lines += [f"total_sv {len(theirs.support_)}", f"rho {-theirs.intercept_[0]:.17g}", "SV"]
    for a, z in zip(theirs.dual_coef_[0], theirs.support_vectors_, strict=True):
        lines.append(f"{a:.17g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(z) if v))
    (tmp_path / "model").write_text("\n".join(lines) + "\n")
    found = read_libsvm(tmp_path / "model", n_features=4).predict(NEW)
    np.testing.assert_allclose(found, theirs.predict(NEW), rtol=1e-10, atol=1e-10)


def test_what_is_no_machine_of_libsvm(tmp_path):
    def refused(model, words):
        with pytest.raises(CannotConvert, match=words):
            write_libsvm(model, tmp_path / "model")

    refused(mercer.LSSVR().fit(X, Y), "LSSVR is no machine of LIBSVM")
    refused(mercer.SVR(kernel=mercer.kernels.Matern()).fit(X, Y), "Matern.* is none of LIBSVM")
    refused(mercer.SVC(kernel="precomputed").fit(X @ X.T, TWO), "has no points")
    refused(mercer.SVR(kernel=lambda A, B: A @ B.T).fit(X, Y), "has no points")
    refused(mercer.SVC().fit(X, TWO.astype(str)), "labels of LIBSVM's are integers")
    trend = mercer.regularizers.Polynomial(1)
    refused(mercer.SVR(null_space=trend).fit(X, Y), "unpenalized functions")
    features = mercer.SVR(approximation=mercer.RandomFeatures(20))
    refused(features.fit(X, Y), "random features")
    three = mercer.SVC(approximation=mercer.Nystrom(10)).fit(X, FOUR)
    refused(three, "share their points")


def test_an_approximated_machine_of_two_classes(tmp_path):
    """It has one pair, which has all points to itself."""
    model = mercer.SVC(gamma=0.3, approximation=mercer.Nystrom(10)).fit(X, TWO)
    write_libsvm(model, tmp_path / "model")
    found = read_libsvm(tmp_path / "model")
    np.testing.assert_allclose(values(found, NEW), values(model, NEW), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.predict(NEW), model.predict(NEW))


def test_damaged_files(tmp_path):
    path = tmp_path / "model"
    write_libsvm(mercer.SVC().fit(X, FOUR), path)
    text = path.read_text()

    def refused(changed, words):
        path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
        with pytest.raises(ModelFileError, match=words):
            read_libsvm(path)

    refused(text[: len(text) // 2], "cut off|damaged")
    refused(text.replace("SV\n", ""), "lacks svm_type or SV")
    refused(b"\xff\xfe", "cannot be read")
    refused(text.replace("c_svc", "d_svc"), "svm_type 'd_svc'")
    refused(text.replace("rbf", "precomputed"), "kernel 'precomputed'")
    refused(text.replace("gamma", "delta"), "damaged")
    refused(text.replace("rho ", "rho 1 "), "values of rho")
    refused(text.replace("label -2", "label -1"), "labels")
    refused(text.replace(" 1:", " 999999999999:", 1), "too many")
    refused(text.replace(" 1:", " 0:", 1), "count from 1")
    refused(text.replace(" 1:", " 1:nan ", 1), "damaged|not finite")
    refused(text.replace(" 1:", " one:", 1), "damaged")
    refused(re.sub(r" 1:\S+", " 1:nan", text, count=1), "not finite")
    refused(re.sub(r"SV\n\S+", "SV\nnan", text, count=1), "not finite")
    path.write_text(text)
    with pytest.raises(ModelFileError, match="more than n_features=2"):
        read_libsvm(path, n_features=2)
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_libsvm(tmp_path / "none")


def test_data_of_svmlight_by_scikit_learn(tmp_path):
    dump_svmlight_file(X, Y, str(tmp_path / "data"))
    rows, y = load_svmlight_file(str(tmp_path / "data"), n_features=4)
    sparse, dense = mercer.SVR(gamma=0.3).fit(rows, y), mercer.SVR(gamma=0.3).fit(X, Y)
    # scikit-learn writes sixteen digits.
    np.testing.assert_allclose(sparse.predict(rows), dense.predict(X), rtol=1e-3, atol=2e-3)
