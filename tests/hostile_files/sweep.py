"""Hundreds of hostile files, in processes of their own: none crashes, costs or takes too much.

``make night STEPS=hostile-files`` prints how the files ended, and fails if one did not end well.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

FILES = {"model": 300, "data": 200}
BATCH = 100
# Beside twice the size of its file, a reading may take this: blocks of rows, buffers of Arrow, and
# chunks of up to 64 MB (mercer.data.array_files.MAX_PACKED_CHUNK_BYTES).
CONSTANT = 2**27
SECONDS = 1.0
GOOD = {"refused", "read", "loaded and predicted", "loaded, refused to predict"}


@dataclass
class Ended:
    """How the reading of a file ended."""

    kind: str
    seed: int
    recipe: str
    size: int
    end: str
    seconds: float = 0.0
    bytes: int = 0

    @property
    def right(self) -> bool:
        """Whether it ended in an answer or a sentence, within its memory."""
        return self.end in GOOD and self.bytes <= 2 * self.size + CONSTANT

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.seed} ({self.recipe}, {self.size} bytes): {self.end}, "
            f"{self.seconds:.2f} s, {self.bytes / 1e6:.1f} MB"
        )


def tried(kind: str, seeds: list[int]) -> list[Ended]:
    """Return how files of some seeds ended, each tried once in a process that may die of one."""
    found: list[Ended] = []
    tests = Path(__file__).parents[1]
    paths = [str(tests), str(tests.parent / "src"), *os.environ.get("PYTHONPATH", "").split(":")]
    environment = os.environ | {"PYTHONPATH": ":".join(filter(None, paths))}
    left = list(seeds)
    while left:
        with tempfile.TemporaryDirectory() as folder:
            words = ",".join(map(str, left))
            run = subprocess.run(
                [sys.executable, "-m", "hostile_files.trial", kind, folder, words],
                capture_output=True,
                text=True,
                env=environment,
                timeout=600,
            )
        begun: Ended | None = None
        for line in run.stdout.splitlines():
            said = json.loads(line)
            if "recipe" in said:
                begun = Ended(kind, said["seed"], said["recipe"], said["size"], "")
            elif begun is not None:
                begun.end, begun.seconds, begun.bytes = said["end"], said["seconds"], said["bytes"]
                found.append(begun)
                left.remove(begun.seed)
                begun = None
        if run.returncode and begun is None:
            raise RuntimeError(f"no file was tried: {run.stderr[-2000:]}")
        if begun is not None:
            begun.end = f"ended the process with status {run.returncode}"
            found.append(begun)
            left.remove(begun.seed)
    return found


def main() -> int:
    """Try all files; print how they ended; return 1 if one did not end well."""
    wrong: list[Ended] = []
    for kind, count in FILES.items():
        if sys.argv[1:] and kind not in sys.argv[1:]:
            continue
        ended: list[Ended] = []
        for first in range(0, count, BATCH):
            ended += tried(kind, list(range(first, min(first + BATCH, count))))
        slow = [one for one in ended if one.seconds > SECONDS]
        wrong += [one for one in ended if not one.right or one in slow]
        counts = Counter(one.end if one.end in GOOD else "WRONG" for one in ended)
        said = ", ".join(f"{n} {end}" for end, n in sorted(counts.items()))
        most = max(0, *(one.bytes - 2 * one.size for one in ended)) / 1e6
        print(f"{len(ended)} {kind} files: {said}")
        print(f"  at most {max(one.seconds for one in ended):.2f} s of processor time")
        print(f"  at most twice the size of the file and {most:.1f} MB", flush=True)
    for one in wrong:
        print(f"wrong: {one}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
