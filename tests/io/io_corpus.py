"""Files that were saved once and must keep loading: written by this script once for a release.

A release adds a folder with its version; folders of earlier releases stay as they are.
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
import mercer.io
from fits import THREE, X, Y, Z
from mercer.kernels import Matern
from mercer.local import Local

FOLDER = Path(__file__).with_name("corpus")
FEW, NEW = slice(0, 24), Z[:5]


def models():
    sparse = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    local = Local(leaf_size=12, adapt=False)
    return {
        "svr": mercer.SVR(C=2.0).fit(X[FEW], Y[FEW]),
        "svc-sparse": mercer.SVC().fit(sparse[FEW], THREE[FEW]),
        "lssvr": mercer.LSSVR(kernel=Matern(0.7)).fit(X[FEW], Y[FEW]),
        "nystrom": mercer.SVR(approximation=mercer.Nystrom(6)).fit(X[FEW], Y[FEW]),
        "local": mercer.SVR(approximation=local).fit(X[FEW], Y[FEW]),
        "band": mercer.QuantileBand().fit(X[FEW], Y[FEW]),
        "pipeline": make_pipeline(StandardScaler(), mercer.SVR()).fit(X[FEW], Y[FEW]),
        "additive": mercer.AdditiveRegressor().fit(X[FEW], Y[FEW]),
    }


def write(folder: Path) -> None:
    """Save the models, and what they answer at some points."""
    folder.mkdir(parents=True)
    answers = {}
    for name, model in models().items():
        mercer.io.save(model, folder / f"{name}.skops")
        points = sp.csr_array(NEW) if "sparse" in name else NEW
        answers[name] = np.asarray(model.predict(points)).tolist()
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    write(FOLDER / mercer.__version__)
