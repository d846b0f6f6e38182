"""Settings shared by every test."""

import os
import re
import sys

import hypothesis
import pytest

import tiers

# Figures are drawn into memory; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")
# Tests report nothing to anybody; set before anything imports onnxruntime.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# A run must mean the same twice, so examples are derandomized;
# `HYPOTHESIS_PROFILE=explore` looks for new ones.
# Deadlines measure the first call of a compiled loop rather than the code under test.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip modules that import a library without a wheel for this Python (tools/matrix.py)."""
    report = yield
    for name in os.environ.get("MERCER_WITHOUT", "").split():
        if report.failed and f"No module named '{name}" in str(report.longrepr):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: {name} has no wheel")
    return report


def pytest_collection_modifyitems(items):
    """Mark tiers; refuse names with a memory address, on which processes could not agree."""
    unstable = [item.nodeid for item in items if re.search(r" at 0x[0-9a-f]+", item.nodeid)]
    if unstable:
        raise pytest.UsageError("give these parameters an id of their own: " + ", ".join(unstable))
    listed = tiers.slow()
    first = {}
    for item in items:
        tier = tiers.tier(item.nodeid, listed)
        # Of scikit-learn's checks a change needs those of one instance of each class.
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if tier == "quick" and {"estimator", "check"} <= params.keys():
            machine = params["estimator"]
            tier = "quick" if first.setdefault(type(machine), machine) is machine else "slow"
        if tier != "quick":
            item.add_marker(tier)


@pytest.fixture(autouse=True)
def no_cluster(request, monkeypatch):
    """Hide the clusters of other tests of this process; what a test starts itself it may use."""
    if "distributed" in sys.modules and "cluster" not in request.path.parts:
        distributed, dask = sys.modules["distributed"], sys.modules["dask"]
        clients = distributed.client._global_clients
        others = [*clients.values()]

        def current(cls, allow_global=True):
            for _, client in sorted(clients.items(), reverse=True):
                if client.status != "closed" and not any(client is other for other in others):
                    return client
            raise ValueError("no client here")

        monkeypatch.setattr(distributed.Client, "current", classmethod(current))
        with dask.config.set(scheduler="threads"):
            yield
    else:
        yield
