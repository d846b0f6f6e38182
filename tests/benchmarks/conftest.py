"""The benchmark is a folder of scripts: its modules are found where they lie."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
