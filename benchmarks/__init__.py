"""What is measured: a folder a subject, with its programs, the pages they write and their results.

Every module is imported from here (``from benchmarks.svm.problems import Problem``), by programs
that are run as files, which put the repository on the path first, and by the tests alike.
"""

import sys
from pathlib import Path

# Data sets and other helpers are those of the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
