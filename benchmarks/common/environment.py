"""What a measurement rests on: the state of the source, the machine, versions and threads."""

import datetime
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "mercer",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "thundersvm-cpu",
    "numpy",
    "scipy",
    "numba",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def share_threads(threads: int) -> None:
    """Tell the processes that will be started from here how many threads each may have."""
    os.environ |= dict.fromkeys(THREADS, str(threads))


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def source() -> bytes:
    """Return what tells one state of the library's source from another."""
    files = sorted((ROOT / "src" / "mercer").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()


def environment(conditions: dict[str, Any]) -> dict[str, Any]:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
        "conditions": conditions,
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
