"""A fit depends on its rows: not on their order, blocks, files, threads, nor on where they lie."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import mercer
from mercer import LSSVR, SVC, SVR, KernelLogisticRegression, Nystrom
from mercer.data import as_source

N, M = 3000, 30
MACHINES = {
    "squared": LSSVR(gamma=0.5, C=1.0),
    "tube": SVR(gamma=0.5, C=1.0, tol=1e-6),
    "logistic": KernelLogisticRegression(gamma=0.5, C=1.0),
}


def sample(name: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(N)
    y = np.where(f > 0, "yes", "no") if name == "logistic" else f
    return X, y, rng.uniform(0.5, 1.0, N)


def decision(machine: Any, X: Any) -> Any:
    return getattr(machine, "decision_function", machine.predict)(X)


def in_blocks(X: Any, y: Any, s: Any, ends: Any) -> Any:
    """Return a source of blocks that end where told."""

    def blocks() -> Any:
        for rows in np.split(np.arange(len(X)), ends):
            yield X[rows], y[rows], s[rows]

    return as_source(blocks)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("centres", ["uniform", "rpcholesky"])
def test_ten_orders_and_partitions(name: str, centres: str) -> None:
    X, y, s = sample(name)
    how = Nystrom(M, centres, random_state=3)
    machine = clone(MACHINES[name]).set_params(approximation=how)
    expected = decision(clone(machine).fit(X, y, s), X)
    plain = clone(machine).fit(X, y, s)
    for seed in range(10 if centres == "uniform" else 3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(N)
        ends = np.sort(rng.choice(np.arange(1, N), size=rng.integers(1, 30), replace=False))
        rows = (X[order], y[order], s[order])
        other = clone(machine).set_params(approximation__n_jobs=1 + seed % 3)
        other.fit(in_blocks(*rows, ends) if seed % 2 else as_source(*rows))
        np.testing.assert_array_equal(other.support_vectors_, plain.support_vectors_)
        np.testing.assert_array_equal(X[order][other.support_], other.support_vectors_)
        # Sums in another order differ in their last digits, which the steps do not magnify beyond
        # six. Losses with kinks are minimized from a start on some of the rows, others in another
        # order, to points that agree as far as their gaps say: half of the squared distance of a
        # function from the minimizer is at most the gap, and k(x, x) is one.
        atol = 1e-6 * np.abs(expected).max()
        if other.solution_.solver == "method of multipliers":
            atol = sum(np.sqrt(2.0 * one.solution_.gap) for one in (other, plain))
        found = decision(other, X) - other.intercept_
        np.testing.assert_allclose(found, expected - plain.intercept_, rtol=0, atol=atol)


@pytest.mark.parametrize("name", MACHINES)
def test_threads_and_files_change_no_bit(name: str, tmp_path: Path) -> None:
    X, y, s = sample(name)
    machine = clone(MACHINES[name]).set_params(approximation=Nystrom(M, n_jobs=1))
    expected = clone(machine).fit(as_source(X, y, s)).dual_coef_
    for jobs in (2, 3):
        other = clone(machine).set_params(approximation__n_jobs=jobs).fit(as_source(X, y, s))
        np.testing.assert_array_equal(other.dual_coef_, expected)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "s": s}
    for k, part in enumerate(np.split(np.arange(N), [1000, 1100])):
        table = pa.table({key: np.asarray(value)[part] for key, value in columns.items()})
        pq.write_table(table, tmp_path / f"part-{k}.parquet", row_group_size=300)
    source = mercer.data.open(str(tmp_path / "*.parquet"), target="y", weight="s")
    files = clone(machine).fit(source)
    np.testing.assert_array_equal(files.dual_coef_, expected)
    assert files.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("fault", ["cut off", "damaged header"])
def test_a_corrupt_file_is_named(fault: str, tmp_path: Path) -> None:
    X, y, _ = sample("squared")
    for k in range(3):
        rows = slice(1000 * k, 1000 * (k + 1))
        table = pa.table({"a": X[rows, 0], "b": X[rows, 1], "y": y[rows]})
        pq.write_table(table, tmp_path / f"part-{k}.parquet", compression="snappy")
    broken = tmp_path / "part-1.parquet"
    content = bytearray(broken.read_bytes())
    if fault == "cut off":
        content = content[: len(content) // 2]
    else:
        content[4:40] = bytes(36)
    broken.write_bytes(bytes(content))
    machine = LSSVR(approximation=Nystrom(M, checkpoint=tmp_path / "passes"))
    with pytest.raises(ValueError, match=r"part-1\.parquet"):
        machine.fit(mercer.data.open(str(tmp_path / "*.parquet"), target="y"))


CHILD = """
import json, re, sys
from pathlib import Path
import numpy as np
import mercer
from mercer import LSSVR, SVC, Nystrom

def memory(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

m, limit, kind = int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(0)
warm = rng.normal(size=(2000, 8))
make = {"LSSVR": LSSVR, "SVC": SVC}[kind]
# Before it counts, loops are compiled and libraries loaded.
make(approximation=Nystrom(20)).fit(warm, np.sign(warm[:, 0]))
source = mercer.data.open(sys.argv[1], target="y")
before = memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
machine = make(gamma=0.1, max_iter=2, approximation=Nystrom(m, memory_limit=limit))
import warnings
warnings.simplefilter("ignore")
machine.fit(source)
print(json.dumps({"peak": memory("VmHWM") - before, "rows": machine.solution_.rows}))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of 600,000 rows and 9 columns, 43 MB."""
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600_000, 8))
    columns = {f"x{j}": x for j, x in enumerate(X.T)}
    table = pa.table(columns | {"y": np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)})
    pq.write_table(table, file, row_group_size=20_000)
    return file


@pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")
@pytest.mark.parametrize(
    ("m", "limit", "kind"),
    [(50, "35MB", "SVC"), (150, "40MB", "LSSVR")],
)
def test_memory_stays_within_its_limit(m: int, limit: str, kind: str, large: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(large), str(m), limit, kind],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(run.stdout)
    assert found["rows"] == 600_000
    assert found["peak"] <= float(limit[:-2]) * 1e6


def test_a_limit_below_the_factor_is_refused() -> None:
    X, y, _ = sample("squared")
    with pytest.raises(ValueError, match=r"memory_limit is 50 MB, but .* before the first row"):
        SVC(approximation=Nystrom(2000, memory_limit="50MB")).fit(X, y > 0)
