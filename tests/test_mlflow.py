"""Models in MLflow's two flavours, with a signature, in a folder: the recipe of the guide.

MLflow needs older versions of packages that others here need newer, so it is not among the
dependencies of the tests; ``make night STEPS=mlflow`` makes an environment in which this runs.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.io import to_onnx, trusted_types

# MLflow tells its makers what is called unless it is asked not to.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow = pytest.importorskip("mlflow", reason="not installed; see make night STEPS=mlflow")

# MLflow's own warnings are about itself.
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = np.sin(X[:, 0]) + X[:, 1]

ALONE = """
import sys, numpy as np, mlflow.pyfunc
model = mlflow.pyfunc.load_model(sys.argv[1])
found = model.predict(np.load(sys.argv[2]))
np.save(sys.argv[3], next(iter(found.values())) if isinstance(found, dict) else found)
assert "mercer" not in sys.modules
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    mlflow.set_tracking_uri(tmp_path.joinpath("runs").as_uri())
    mlflow.set_experiment("kernel machines")


def test_the_onnx_flavour_is_served_without_this_library(tmp_path):
    model = SVR(C=10.0).fit(X, Y)
    signature = mlflow.models.infer_signature(X, model.predict(X)[:, None])
    with mlflow.start_run():
        told = mlflow.onnx.log_model(to_onnx(model), name="machine", signature=signature)
    np.save(tmp_path / "X.npy", X)
    files = [str(tmp_path / name) for name in ("X.npy", "found.npy")]
    subprocess.run([sys.executable, "-c", ALONE, told.model_uri, *files], check=True)
    np.testing.assert_allclose(np.load(files[1]).ravel(), model.predict(X), rtol=1e-10)


def test_the_scikit_learn_flavour_keeps_the_machine_and_refuses_other_columns():
    labels = np.where(Y > 0, "high", "low")
    model = SVC(C=10.0).fit(X, labels)
    signature = mlflow.models.infer_signature(X, model.predict(X))
    with mlflow.start_run():
        told = mlflow.sklearn.log_model(
            model,
            name="machine",
            signature=signature,
            serialization_format="skops",
            skops_trusted_types=trusted_types(),
        )
    back = mlflow.sklearn.load_model(told.model_uri)
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    served = mlflow.pyfunc.load_model(told.model_uri)
    np.testing.assert_array_equal(served.predict(X), model.predict(X))
    with pytest.raises(mlflow.exceptions.MlflowException, match="schema"):
        served.predict(X[:, :2])
