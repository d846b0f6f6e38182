"""The measurements behind the plan: passes, factorizations, reading, whole fits and the engine."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import scipy.linalg as la
from distributed import Client, LocalCluster
from pyarrow import parquet

from benchmarks.plan.simulate import Fleet, Simulation
from mercer.data import Arrays, draw
from mercer.kernels import Gaussian
from mercer.losses import Hinge, Logistic, Squared
from mercer.reduced.block_sums import curvature
from mercer.reduced.census import take_census
from mercer.reduced.nystrom import Nystrom, NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem
from mercer.reduced.solve import Task, solve
from mercer.reduced.targets import Values
from mercer.regularizers.null_space import Constant

LOSSES = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge()}
PRECISIONS = ("double", "single")
# Features, centres and columns of the passes that the pace is fitted to, and of those it foretells.
FITTED = [(d, m, k, 1) for d in (5, 20, 100, 784) for m in (256, 1024, 2048) for k in (1, 8)]
FORETOLD = [(10, 512, 1, 1), (50, 1536, 4, 1), (300, 1024, 2, 1), (10, 1024, 1, 10)]
ROWS = 16_384


def sample(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and targets that a few thousand centres can follow."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * np.tanh(X[:, 2] * X[:, 3])
    return X, f + 0.3 * rng.standard_normal(n)


def cheapest(call: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of some calls: what disturbs them only adds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


class Counted(Passes):
    """Passes that are counted by their names, with the processor's time for them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names: Counter[str] = Counter()
        self.cpu = 0.0

    def __call__(self, name: str, *args: Any, **how: Any) -> Any:
        self.names[name] += 1
        start = time.process_time()
        result = super().__call__(name, *args, **how)
        self.cpu += time.process_time() - start
        return result


def problem_of(X: np.ndarray, m: int, k: int) -> Problem:
    """Return k problems of a squared loss in the span of the first m rows, with an intercept."""
    d = X.shape[1]
    return Problem(
        map=NystromMap(Gaussian(np.sqrt(d)), X[:m]),
        null_space=Constant(),
        targets=Values(k),
        loss=Squared(),
        C=np.ones(k),
        p=d,
    )


def one_pass(precision: str, n: int, d: int, m: int, k: int) -> dict[str, Any]:
    """Measure a pass of k problems on one core, as a fit makes it."""
    X, y = sample(n, d)
    problem = problem_of(X, m, k)
    r = problem.map.r
    source = Arrays(X, np.tile(y[:, None], k))
    passes = Counted(source, rows=ROWS, n_jobs=1)
    pool = draw(source, 10, n_jobs=1)
    oracle = Oracle(problem, passes, pool)
    W, b = np.random.default_rng(1).standard_normal((r, k)), np.zeros((1, k))

    def call() -> object:
        if precision == "double":
            return oracle.evaluate(W, b, curved=False)
        return oracle.product(W, b, W, b, np.arange(k), True)

    return {"precision": precision, "n": n, "d": d, "m": r, "k": k, "cpu": cheapest(call)}


def passes() -> Iterator[dict[str, Any]]:
    cases = [(p, case) for p in PRECISIONS for case in FITTED + FORETOLD]
    for precision in PRECISIONS:
        one_pass(precision, 1000, 5, 64, 1)  # compiled code is loaded here
    # In no order, so that what else the machine does meanwhile falls on all of them alike.
    for i in np.random.default_rng(0).permutation(len(cases)):
        precision, (d, m, k, blocks) = cases[i]
        case = one_pass(precision, blocks * ROWS, d, m, k)
        yield case | {"foretold": cases[i][1] in FORETOLD}


def factors() -> Iterator[dict[str, Any]]:
    """Measure a core's flops in what is m by m: a factorization, and sums of curvature."""
    for m in (1000, 2000, 4000):
        K = np.eye(m) + np.random.default_rng(0).uniform(size=(m, m)) / m
        cpu = cheapest(lambda K=K: la.cho_factor(K, check_finite=False))
        yield {"what": "factor", "m": m, "cpu": cpu, "flops": m**3 / 3 / cpu}
    for m in (300, 1000, 2000):
        X, y = sample(10 * m, 10)
        problem = problem_of(X, m, 1)
        some = draw(Arrays(X, y), 10 * m, n_jobs=1)
        W = np.zeros((problem.map.r, 1))
        oracle = Oracle(problem, Passes(Arrays(X, y)), some)
        state = oracle.state(W, np.zeros((1, 1)))
        cpu = cheapest(lambda p=problem, state=state, some=some: curvature(p, state, some), 2)
        # Features are solved for and their products summed: m^2 flops a row for each.
        yield {"what": "curvature", "m": m, "cpu": cpu, "flops": 2 * 10 * m**3 / cpu}


def one_fit(loss: str, n: int, m: int, C: float) -> dict[str, Any]:
    """Count the passes of a fit with default tolerance, and measure it on one core."""
    X, y = sample(n, 10)
    y = y if loss == "squared" else np.sign(y)
    passes = Counted(Arrays(X, y), rows=ROWS, n_jobs=1)
    task = Task(Gaussian(np.sqrt(10.0)), Constant(), Values(1), LOSSES[loss], np.array([C]))
    how = Nystrom(m, n_jobs=1)
    start = time.process_time()
    census = take_census(passes, 10 * m, 0, False)
    found = solve(task, census, passes, how).solution
    return {
        "loss": loss,
        "n": n,
        "m": m,
        "C": C,
        "passes": dict(passes.names),
        "steps": found.n_iter,
        "converged": found.status.name == "CONVERGED",
        "gap": found.gap / found.objective,
        "cpu": time.process_time() - start,
        "inside": passes.cpu,
    }


def fits(sizes: tuple[int, ...] = (20_000, 60_000)) -> Iterator[dict[str, Any]]:
    for loss in LOSSES:
        for n in sizes:
            for m in (300, 1000):
                for C in (0.1, 10.0):
                    yield one_fit(loss, n, m, C)


# The engine ---------------------------------------------------------------------------------------


def _leaf(seconds: float) -> float:
    start = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - start  # a busy machine wakes nobody in time


def _add(parts: list[float]) -> float:
    return sum(parts)


@contextmanager
def two_workers() -> Iterator[Client]:
    """Give a client of a scheduler in this process and two workers in their own."""
    with (
        dask.config.set({"distributed.admin.tick.limit": "1 minute"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=tempfile.gettempdir(),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def bare_pass(client: Client, seconds: np.ndarray, arity: int) -> tuple[float, float]:
    """Make a pass of tasks that sleep, with a tree; return its time and how long they slept."""
    start = time.perf_counter()
    level = client.map(_leaf, seconds.tolist(), pure=False)
    while len(level) > 1:
        groups = [level[i : i + arity] for i in range(0, len(level), arity)]
        level = client.map(_add, groups, pure=False)
    slept = level[0].result()
    return time.perf_counter() - start, slept


def engine(sizes: tuple[int, ...] = (50, 400, 50, 400)) -> dict[str, Any]:
    """Measure what a task costs client and scheduler, and hold the simulation to real passes."""
    with two_workers() as client:
        return _engine(client, sizes)


def _engine(client: Client, sizes: tuple[int, ...]) -> dict[str, Any]:
    bare_pass(client, np.zeros(20), 8)
    found = []
    for parts in sizes:
        cpu = time.process_time()
        wall, _ = bare_pass(client, np.zeros(parts), 8)
        tasks = parts * 8 / 7
        found.append(
            {"parts": parts, "cpu": (time.process_time() - cpu) / tasks, "wall": wall / tasks}
        )
    message = float(np.median([r["cpu"] for r in found if r["parts"] == max(sizes)]))
    work, spread, parts, arity = 0.05, 0.5, 40, 4
    rng = np.random.default_rng(0)
    real = [
        bare_pass(client, work * np.exp(spread * rng.standard_normal(parts) - spread**2 / 2), arity)
        for _ in range(6)
    ]
    pace = float(np.median([r["wall"] for r in found if r["parts"] == max(sizes)]))
    work = sum(slept for _, slept in real) / len(real) / parts
    # What an empty task takes is spent by scheduler and workers; all of it is given to the workers.
    fleet = Fleet(2, parts, work + 2 * pace, spread=spread, arity=arity, steal=True, add=pace)
    simulated = [p.seconds for p in Simulation(fleet).run(200)]
    return {
        "empty": found,
        "message": message,
        "wall": pace,
        "real": [r[0] for r in real],
        "simulated": {"mean": float(np.mean(simulated)), "sd": float(np.std(simulated))},
        "parts": parts,
        "work": work,
    }


def reading(rows: int = 200_000, d: int = 20) -> dict[str, Any]:
    """Measure how fast a core turns a Parquet file into rows, in bytes of float32 a second."""
    X = np.random.default_rng(0).standard_normal((rows, d), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        parquet.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}), path)

        def read() -> None:
            for batch in parquet.ParquetFile(path).iter_batches(ROWS, use_threads=False):
                np.stack([column.to_numpy() for column in batch.columns], axis=1)

        cpu = cheapest(read)
    return {"rows": rows, "d": d, "cpu": cpu, "bytes": X.nbytes / cpu}
