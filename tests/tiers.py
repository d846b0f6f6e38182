"""Which tests a change needs, which an issue, and which the night.

``make test`` leaves out slow tests, ``make test-all`` those of the night; pytest alone runs all.
A test is slow if its cases took more than a fifth of a second each in the run that wrote
``tests/slow.txt``: ``python -m pytest --junit-xml=run.xml`` and ``python tests/tiers.py run.xml``.
"""

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SLOW = ROOT / "tests" / "slow.txt"

# Seconds that a case of a test takes on average, from which on the test is slow.
LONGEST_CASE_SECONDS = 0.2

# Fuzzed input, files made to do harm, and clusters under faults.
NIGHTLY = (
    "tests/cluster/test_faults.py",
    "tests/hostile/",
    "tests/hostile_files/",
    "tests/mutation/",
)


def function_of(nodeid: str) -> str:
    """Return the test of a case, without its parameters."""
    return nodeid.split("[", 1)[0]


def slow() -> frozenset[str]:
    """Return the tests that are slow."""
    return frozenset(SLOW.read_text(encoding="utf-8").split())


def tier(nodeid: str, listed: frozenset[str]) -> str:
    """Return "quick", "slow" or "nightly" for a case."""
    if nodeid.startswith(NIGHTLY):
        return "nightly"
    return "slow" if function_of(nodeid) in listed else "quick"


def nodeid(classname: str, name: str) -> str:
    """Return the identity of a case from the two names that a report in JUnit's format has."""
    parts = classname.split(".")
    for end in range(len(parts), 0, -1):
        module = Path(*parts[:end]).with_suffix(".py")
        package = Path(*parts[:end]) / "__init__.py"
        for path in (module, package):
            if (ROOT / path).is_file():
                return "::".join([path.as_posix(), *parts[end:], name])
    raise ValueError(f"no file of {classname}")


def measured(report: Path) -> list[str]:
    """Return the tests of a run whose cases took long, on average."""
    seconds = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        if not case.attrib["classname"]:
            continue  # a module that was skipped or could not be read
        one = nodeid(case.attrib["classname"], case.attrib["name"])
        if tier(one, frozenset()) != "nightly":
            seconds[function_of(one)].append(float(case.attrib["time"]))
    return sorted(
        test for test, took in seconds.items() if sum(took) > LONGEST_CASE_SECONDS * len(took)
    )


if __name__ == "__main__":
    found = measured(Path(sys.argv[1]))
    SLOW.write_text("\n".join(found) + "\n", encoding="utf-8")
    print(f"{len(found)} slow tests written to {SLOW.name}")
