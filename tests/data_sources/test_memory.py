"""Memory is a parameter: read in words, turned into rows, and kept to."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer.data import memory


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 gib", 1.5 * 2**30),
        ("512MiB", 2**29),
        ("300 mb", 3e8),
        ("64k", 64_000),
        (".5TB", 5e11),
        ("100", 100),
        ("100B", 100),
        (12345, 12345),
        (2e9, 2e9),
        (np.int64(7000), 7000),
    ],
)
def test_sizes_in_words(words, size):
    assert memory.parse(words) == size


def test_a_fraction_is_of_the_machine():
    assert memory.parse(0.25) == memory.machine_bytes() // 4
    assert memory.resident() < memory.machine_bytes()


NO_SIZES = ["2 furlongs", "", "GB", "-1GB", 0, -5, 1.0, True, float("inf"), "0"]


@pytest.mark.parametrize("wrong", NO_SIZES)
def test_what_is_no_size_is_refused(wrong):
    with pytest.raises(ValueError, match="a size of memory is written '2GB'"):
        memory.parse(wrong)


def test_a_container_has_the_memory_it_is_given(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("1000000\n")
    monkeypatch.setattr(memory, "CGROUP_LIMITS", (str(tmp_path / "memory.max"),))
    assert memory.machine_bytes() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.machine_bytes() > 1_000_000


def test_rows_of_a_block_fill_the_limit_and_no_more():
    for threads in (1, 4):
        rows = memory.block_rows("100MB", work=16_000, threads=threads, fixed=20e6, data=400)
        used = 20e6 + rows * (threads * 16_000 + (2 * threads + 2) * 400)
        assert 0.99e8 < used <= 1e8
    assert memory.block_rows("10GB", work=8) == memory.MAX_BLOCK_ROWS
    assert memory.block_rows("10GB", work=8, largest=100) == 100


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"work": 8, "fixed": 2e6}, "is 1 MB, but 2 MB are needed before the first row"),
        ({"work": 3e6}, "but 3 MB are needed for a single row"),
    ],
)
def test_a_limit_that_is_too_small_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        memory.block_rows("1MB", **options)


PASS = """
import sys
import numpy as np
import mercer.data
import mercer.data.column_files
from mercer.data import memory

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

def work(block, Z, state):
    K = block.X @ Z                   # m numbers a row, as kernel values are
    return K.T @ block.y.astype(np.float32)

folder, limit = sys.argv[1], sys.argv[2]
source = mercer.data.open(folder, target="y")
m = 100
Z = np.ones((source.n_features, m), dtype=np.float32)
work(next(source.blocks(10)), Z, None)   # what is loaded once
before = peak()
rows = memory.block_rows(
    limit, work=4 * m, threads=2, data=4 * source.n_features + 8, fixed=source.reading_bytes
)
total = source.total(work, Z, rows=rows, n_jobs=2)
print(peak() - before, rows, source.n_rows, float(total[0]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_a_pass_over_files_larger_than_the_limit_keeps_to_it(tmp_path):
    """100 MB of rows in a pass that may take 30 MB, whatever the row groups."""
    rng, total, p = np.random.default_rng(0), 0.0, 6
    for k in range(3):
        X = rng.random((1_000_000, p), dtype=np.float32)
        y = rng.random(1_000_000)
        total += float(X.sum(axis=1, dtype=np.float64) @ y)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(p)}, "y": y})
        how = {"use_dictionary": False, "compression": "none"}
        pq.write_table(table, tmp_path / f"{k}.parquet", row_group_size=1_000_000, **how)
    command = [sys.executable, "-c", PASS, str(tmp_path), "30MB"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    used, rows, n, found = (float(word) for word in done.stdout.split())
    assert n == 3_000_000
    assert rows > 1000  # the limit is used, not only kept
    assert used <= 30e6
    assert found == pytest.approx(total, rel=1e-5)  # products of single precision
