"""Fits that were stopped go on where they were, to the same bits, whatever stopped them."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer.reduced.oracle as oracle_module
from mercer import LSSVR, SVC, KernelLogisticRegression, Nystrom
from mercer.reduced import CheckpointError
from mercer.reduced.passes import Passes
from mercer.solvers import ConvergenceWarning, Status

N, M = 600, 20


def sample(labels: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(N)
    return X, np.where(f > 0, "yes", "no") if labels else f


MACHINES = {
    "squared": lambda how, **more: LSSVR(gamma=0.5, C=30.0, approximation=how, **more),
    "logistic": lambda how, **more: KernelLogisticRegression(
        gamma=0.5, C=30.0, approximation=how, **more
    ),
    "hinge": lambda how, **more: SVC(gamma=0.5, C=3.0, approximation=how, **more),
}


class StoppedError(Exception):
    """Raised in the middle of a fit."""


def stop_after(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    """Let the pass over rows fail that comes after k others."""
    made = 0
    shown = Passes._shown

    def failing(self: Any, *args: Any) -> Any:
        nonlocal made
        if made == k:
            raise StoppedError
        made += 1
        return shown(self, *args)

    monkeypatch.setattr(Passes, "_shown", failing)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with every pass over rows."""
    seen: list[int] = []
    shown = Passes._shown

    def counting(self: Any, *args: Any) -> Any:
        seen.append(1)
        return shown(self, *args)

    monkeypatch.setattr(Passes, "_shown", counting)
    return seen


def same(one: Any, other: Any) -> bool:
    return all(
        np.array_equal(np.asarray(getattr(one, name)), np.asarray(getattr(other, name)))
        for name in ("dual_coef_", "intercept_", "support_vectors_", "support_")
    )


@pytest.mark.parametrize("curvature", ["summed", "sampled"])
@pytest.mark.parametrize("name", MACHINES)
def test_an_exception_in_any_pass(
    name: str, curvature: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if curvature == "sampled":
        monkeypatch.setattr(oracle_module, "MAX_DENSE_FEATURES", 4)
        monkeypatch.setattr(oracle_module, "CURVATURE_ROWS_PER_FEATURE", 3)
    X, y = sample(name != "squared")
    whole = MACHINES[name](Nystrom(M, checkpoint=tmp_path / "whole")).fit(X, y)
    assert (whole.solution_.solver == "method of multipliers") == (name == "hinge")
    passes = whole.solution_.passes
    for k in sorted({1, passes // 2, passes - 1}):
        how = Nystrom(M, checkpoint=tmp_path / str(k))
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(StoppedError):
                MACHINES[name](how).fit(X, y)
        with monkeypatch.context() as patch:
            seen = counted(patch)
            resumed = MACHINES[name](how).fit(X, y)
        assert same(whole, resumed)
        # The rows are read once more, to see that they are the same.
        assert len(seen) == passes - k + 1
        assert resumed.solution_.passes == passes
        assert resumed.solution_.gap == whole.solution_.gap


def test_more_iterations_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample(True)
    how = Nystrom(M, checkpoint=tmp_path / "kept")
    with pytest.warns(ConvergenceWarning, match="ended early"):
        early = MACHINES["hinge"](how, max_iter=3).fit(X, y)
    assert early.solution_.status is Status.MAX_ITER
    with monkeypatch.context() as patch:
        seen = counted(patch)
        rest = MACHINES["hinge"](how).fit(X, y)
    assert rest.solution_.status is Status.CONVERGED
    # The certificate of a fit that ended early is no part of one that goes on.
    assert len(seen) <= rest.solution_.passes - early.solution_.passes + 2
    whole = MACHINES["hinge"](Nystrom(M, checkpoint=tmp_path / "whole")).fit(X, y)
    assert same(rest, whole)


@pytest.mark.parametrize(
    "change",
    ["one target", "one feature", "weights", "kernel", "C", "centres", "seed", "order of targets"],
)
def test_another_fit_in_the_same_directory_is_refused(change: str, tmp_path: Path) -> None:
    X, y = sample(False)
    centres = X[:M].copy()
    how: dict[str, Any] = {"m": M, "centres": centres}
    settings: dict[str, Any] = {"gamma": 0.5}
    s = np.ones(N)
    LSSVR(**settings, approximation=Nystrom(**how, checkpoint=tmp_path)).fit(X, y, s)
    if change == "one target":
        y = np.r_[y[:-1], 50.0]
    elif change == "one feature":
        X = X.copy()
        X[-1, 2] += 0.5
    elif change == "weights":
        s[-1] = 9.0
    elif change == "kernel":
        settings["gamma"] = 0.6
    elif change == "C":
        settings["C"] = 2.0
    elif change == "centres":
        how["centres"] = X[M : 2 * M]
    elif change == "seed":
        how |= {"centres": "uniform", "random_state": 1}
    else:
        y = np.r_[y[1:], y[:1]]
    other = change in ("kernel", "C", "centres", "seed")
    machine = LSSVR(**settings, approximation=Nystrom(**how, checkpoint=tmp_path))
    files = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="is of other " + ("settings" if other else "data")):
        machine.fit(X, y, s)
    assert files == {file: file.read_bytes() for file in tmp_path.iterdir()}


@pytest.mark.parametrize("fault", ["cut off", "one byte", "empty", "nonsense"])
def test_a_broken_file_is_made_again(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample(True)
    how = Nystrom(M, checkpoint=tmp_path)
    whole = MACHINES["logistic"](how).fit(X, y)
    file = sorted(tmp_path.glob("*.npz"))[2]
    content = file.read_bytes()
    broken = {
        "cut off": content[: len(content) // 2],
        "one byte": content[:300] + bytes([content[300] ^ 1]) + content[301:],
        "empty": b"",
        "nonsense": b"nonsense" * 100,
    }[fault]
    file.write_bytes(broken)
    with monkeypatch.context() as patch:
        seen = counted(patch)
        again = MACHINES["logistic"](how).fit(X, y)
    assert same(whole, again)
    assert len(seen) == 2  # the rows, and the pass that was lost
    with np.load(file) as again, np.load(io.BytesIO(content)) as before:
        assert {k: again[k].tobytes() for k in again} == {k: before[k].tobytes() for k in before}


def test_a_full_disk_is_said_and_what_was_kept_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample(True)
    how = Nystrom(M, checkpoint=tmp_path)
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointError, match=r"No space left.*make room and fit again"):
            MACHINES["logistic"](how).fit(X, y)
    assert len(list(tmp_path.iterdir())) == 3  # and nothing half written
    seen = counted(monkeypatch)
    resumed = MACHINES["logistic"](how).fit(X, y)
    assert len(seen) == resumed.solution_.passes - 3


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    X, y = sample(False)
    with pytest.raises(CheckpointError, match="no checkpoint can be kept in"):
        LSSVR(approximation=Nystrom(M, checkpoint=tmp_path / "file" / "below")).fit(X, y)


# Other processes ----------------------------------------------------------------------------------

CHILD = """
import json, sys, time, warnings
import numpy as np
from mercer import SVC, Nystrom
from mercer.reduced.passes import Passes

shown = Passes._shown

def slow(self, name, make):
    time.sleep(DELAY)
    return shown(self, name, make)

Passes._shown = slow

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(600)
y = np.where(f > 0, "yes", "no")
machine = SVC(gamma=0.5, C=30.0, approximation=Nystrom(20, checkpoint=sys.argv[1], n_jobs=1))
warnings.simplefilter("error")
BEFORE
print("go", flush=True)
machine.fit(X, y)
print(json.dumps({
    "status": machine.solution_.status.name,
    "score": float(np.mean(machine.predict(X) == y)),
}), flush=True)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals to another process")


def child(directory: Path, delay: float, before: str = "") -> subprocess.Popen[str]:
    program = CHILD.replace("DELAY", str(delay)).replace("BEFORE", before)
    single = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    return subprocess.Popen(
        [sys.executable, "-c", program, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | single,
    )


def wait_for(directory: Path, files: int) -> None:
    limit = time.monotonic() + 60
    while len(list(directory.glob("*.npz"))) < files:
        assert time.monotonic() < limit
        time.sleep(0.01)


def check_resumed(directory: Path, ended: int = 0) -> None:
    """What the other process kept is gone on from, to the bits of a fit that was not disturbed.

    The certificates of fits that ended early are no part of one that goes on.
    """
    X, y = sample(True)
    kept = len(list(directory.glob("*.npz")))
    whole, resumed = (
        SVC(gamma=0.5, C=30.0, approximation=Nystrom(20, n_jobs=1, checkpoint=where))
        for where in (directory / "whole", directory)
    )
    with pytest.MonkeyPatch.context() as patch:
        seen = counted(patch)
        resumed.fit(X, y)
    assert len(seen) <= resumed.solution_.passes - kept + 1 + ended
    assert same(resumed, whole.fit(X, y))
    assert resumed.solution_.status is Status.CONVERGED


def test_a_process_that_was_killed_goes_on(tmp_path: Path) -> None:
    first = child(tmp_path, 0.1)
    wait_for(tmp_path, 5)
    first.kill()
    first.communicate()
    check_resumed(tmp_path)


def test_an_interrupt_leaves_the_last_good_machine(tmp_path: Path) -> None:
    first = child(tmp_path, 0.1, "warnings.simplefilter('always')")
    wait_for(tmp_path, 8)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert "interrupted" in err
    found = json.loads(out.splitlines()[1])
    assert found["status"] == "INTERRUPTED"
    assert found["score"] > 0.7
    check_resumed(tmp_path, ended=1)


@pytest.mark.skipif(sys.platform == "darwin", reason="limits on files are not kept there")
def test_a_limit_on_files_is_a_full_disk(tmp_path: Path) -> None:
    before = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    )
    first = child(tmp_path, 0.0, before)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "CheckpointError" in err
    assert "make room and fit again" in err
    assert not list(tmp_path.glob("*.tmp"))
    check_resumed(tmp_path)
