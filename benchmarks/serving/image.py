"""The image of the Dockerfile, built by Buildah and run by Podman, without a network.

``image.py`` imports a root file system as the base that the Dockerfile names (``--base``, a folder
or an archive; nothing is pulled), builds the image with ``--network none`` from a folder of wheels,
runs it read-only, asks its health check and for predictions, compares them with the model, and ends
it. Images are kept in a folder of their own, which is deleted at the end.

A base is what ``debootstrap --variant=minbase`` makes, with a Python of the Dockerfile's version
below ``/usr/local``; ``docs/contribute/release.md`` has the commands.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.serving.container import HERE, compare, download, fitted, instructions

# No container gets more than this process may give.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
# What an image runs with, unless its Dockerfile says otherwise.
DEFAULTS = ("CMD python3", "ENV PATH=/usr/local/bin:/usr/bin:/bin")


class Engine:
    """Buildah and Podman over a store of their own."""

    def __init__(self, folder: Path) -> None:
        self.store = ["--storage-driver", "vfs", "--root", str(folder / "root")]
        self.store += ["--runroot", str(folder / "run")]

    def _call(self, *words: str | Path) -> str:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}")
        return done.stdout.strip()

    def buildah(self, *words: str | Path) -> str:
        return self._call("buildah", *self.store, *words)

    def podman(self, *words: str | Path) -> str:
        # Control groups by files and by runc also work where there is no systemd.
        how = ("--cgroup-manager", "cgroupfs", "--runtime", "runc")
        return self._call("podman", *self.store, *how, *words)


def archive(base: Path, folder: Path) -> Path:
    """Return the root file system as an archive."""
    if base.is_file():
        return base
    subprocess.run(["tar", "-C", base, "-cf", folder / "base.tar", "."], check=True)
    return folder / "base.tar"


def check(base: Path, wheels: Path | None, folder: Path) -> None:
    context = folder / "context"
    context.mkdir()
    shutil.copy(HERE / "Dockerfile", context)
    (_, name), *_ = instructions((HERE / "Dockerfile").read_text())
    version = name.partition(":")[2].partition("-")[0]
    if wheels is None:
        download(context / "wheels", "--python-version", version)
    else:
        shutil.copytree(wheels, context / "wheels")
    model, X = fitted(context)

    engine = Engine(folder)
    changes = [word for change in DEFAULTS for word in ("--change", change)]
    engine.podman("import", *changes, archive(base, folder), f"docker.io/library/{name}")
    began = time.perf_counter()
    build = ("bud", "--pull-never", "--runtime", "runc", "--network", "none", *LIMITS)
    engine.buildah(*build, "--format", "docker", "--tag", "mileage", context)
    print(f"built without a network in {time.perf_counter() - began:.0f} s", flush=True)
    # The network of this machine, so that the service is asked on its loopback.
    run = ("run", "--detach", "--pull", "never", "--read-only", "--network", "host", *LIMITS)
    one = engine.podman(*run, "mileage")
    try:
        while not engine.podman("logs", one):
            time.sleep(0.1)
        engine.podman("healthcheck", "run", one)
        print(f"healthy; user {engine.podman('exec', one, 'id', '-u')}")
        compare(model, X)
    finally:
        began = time.perf_counter()
        engine.podman("stop", one)
        print(f"ended {time.perf_counter() - began:.1f} s after it was asked to")
        state = json.loads(engine.podman("inspect", one))[0]["State"]
        engine.podman("rm", one)
    assert state["ExitCode"] == 0, state
    size = json.loads(engine.podman("inspect", "mileage"))[0]["Size"]
    print(f"image: {size / 1e6:.0f} MB, base included")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="a root file system")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels instead of a download")
    options = parser.parse_args()
    missing = [name for name in ("podman", "buildah", "runc") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        raise SystemExit(f"it needs root, podman, buildah and runc; missing: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        check(options.base, options.wheels, Path(folder))


if __name__ == "__main__":
    main()
