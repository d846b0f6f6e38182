"""Count the instructions of compiled loops per element, and compare with those committed.

``instructions.py`` runs each loop of ``mercer._native`` on fixed input at level v3 under callgrind,
which counts what the processor executes: clocks differ between machines and hours, counts between
compilers only. It fails if a count in instructions.json differs by more than 3 %. After a change
that is meant, ``instructions.py write`` writes the file again. valgrind and a C compiler are
needed; level v4 is not emulated by valgrind.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "instructions"
COMMITTED = Path(__file__).with_suffix(".json")
LEVEL = "v3"
# The share by which a count may differ: what compilers of one release differ by.
TOLERANCE = 0.03
# Rows and columns of a tile, and its features.
ROWS = 64
COLUMNS = 2048
FEATURES = 8
# Samples of loops that pass over vectors.
SAMPLES = 32768

# Requests that callgrind understands, as functions of a library.
MARKS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A loop, its arguments, and how many elements it passes over."""

    name: str
    loop: str
    arguments: tuple[Any, ...]
    elements: float | Callable[[Any], float]
    """A number, or a function of what the loop returns."""


def typed_cases(T: Any, kind: str) -> Iterator[Case]:
    """Yield the loops over numbers of type T."""
    rng = np.random.default_rng(0)
    n, m, p = ROWS, COLUMNS, FEATURES
    X, Z = rng.normal(size=(n, p)).astype(T), rng.normal(size=(m, p)).astype(T)
    hx, hz = 0.5 * (X**2).sum(axis=1), 0.5 * (Z**2).sum(axis=1)
    D, columns = X @ Z.T, np.ascontiguousarray(Z.T)
    K = np.exp2(D - hx[:, None] - hz)
    a, b = rng.normal(size=m), rng.normal(size=n)
    flat, starts, pairs = np.empty(n * m, T), m * np.arange(n), n * m

    def case(loop: str, elements: Any, *arguments: Any, form: str = "") -> Case:
        return Case(f"{loop}{form} {kind}", loop, arguments, elements)

    yield case("in_units", Z.size, Z, np.zeros(p), np.ones(p), np.empty_like(Z), np.empty(m, T))
    yield case("raise_two", pairs, D, hx, hz)
    yield case("powers_of_two", pairs, D, hx, hz, flat, m)
    yield case("exponents", pairs, D, hx, hz)
    for twice in (3, 5):
        yield case("matern", pairs, D, hx, hz, twice, form=f" of {twice}/2")
    # One value of a hundred is computed again.
    lowest = np.quantile(K, 0.99, axis=1).astype(T)
    again = K.reshape(-1), m, m, X, Z, np.ones(p, T), np.arange(n), lowest, True
    yield case("repair", pairs, *again)
    yield case("laplace", pairs * p, X, np.full(p, 0.1, T), p - 2, columns, 0, m, flat, m)
    yield case("weigh", pairs, K, a, np.zeros(n))
    yield case("weigh_both", pairs, K, a, np.zeros(n), b, np.zeros(m))
    yield case("add_rows", pairs, np.zeros(m), K.reshape(-1), starts, b)
    two = np.stack([b, -b])
    yield case("add_rows", pairs, np.zeros((2, m)), K.reshape(-1), starts, two, form=" of two sums")
    # Three quarters of a square are known, of the others every second row is stored.
    size = 512
    here, added = np.arange(384), np.arange(384, size)
    slots = np.where(added % 2, added - 384, -1)
    square = np.ones((size, size), T)
    places = here, here, added, slots, np.ones((len(added), m), T), np.arange(size)
    yield case("assemble", size**2, square, np.ones((400, 400), T), *places)
    S, terms, state, ends = pair_problem(T)
    runs = np.array([0, len(S)], np.uint64)
    steps = S, np.zeros(len(terms)), terms, state, ends, runs, 1e-3, 10**6, 100
    yield case("pair_loop", lambda result: result[0] * len(S), *steps)
    # Sixty rows of eight features and half norms in groups of twelve, and columns in groups.
    width = 128 // Z.itemsize
    left, right = np.ones((5, 12 * (p + 1)), T), np.ones((m // width, width * (p + 1)), T)
    sums = np.ones((1, 60), T), np.zeros((1, m))
    yield case("weigh_tiles", 60 * m, left, right, *sums, 0, 0.0)
    tiled = np.empty((60, m), T)
    yield case("fill_tiles", 60 * m, left, right, np.arange(60), tiled, 0, 0.0)
    fresh = np.isin(np.arange(size), added)
    yield case("mirror_rows", len(added) * len(here), square, added, fresh, 0, size)
    yield from (
        case("sweep", values.size, starts, index, values, *rest, form=form)
        for form, starts, index, values, rest in sweeps(T)
    )
    # A tree of seven levels, whose cuts go through the middle.
    n_inner = 2**7 - 1
    node, n_nodes = np.arange(2 * n_inner + 1), 2 * n_inner + 1
    inner = node < n_inner
    tree = (
        np.where(inner, node % p, -1),
        np.zeros(n_nodes),
        np.where(inner, 2 * node + 1, node),
        np.where(inner, 2 * node + 2, 0),
        np.zeros(n_nodes + 1, np.int64),
        np.zeros(0),
    )
    yield case("descend", 7 * m, Z, *tree, np.empty(m, np.int64))
    # One pass over rows with all their columns: sixteen classes, a target, a class without most
    # columns, and three coupled classes.
    rows = np.arange(0, m * p + 1, p, dtype=np.uint64), np.tile(np.arange(p), m).astype(np.uint32)
    rows = *rows, np.ascontiguousarray(Z).ravel()
    squares = np.sum(Z.astype(np.float64) ** 2, axis=1) + 1.0
    side = np.stack([np.ones(m), np.zeros(m), 1.0 / squares], axis=1)
    target = np.stack([np.ones(m), np.zeros(m), 1.0 / squares, Z[:, 0], 0.1 * np.ones(m), squares])
    order, limits, worst = np.arange(m, dtype=np.uint32), np.full(16, np.inf), np.zeros(16)
    signs = np.arange(m, dtype=np.uint32) * 2654435761 % 2**16
    for name, lanes, terms in (
        ("descend_classes", 16, np.tile(side, 2)),
        ("descend_targets", 1, np.ascontiguousarray(target.T)),
    ):
        awake = np.full(m, 2**lanes - 1, dtype=np.uint32)
        state = np.array([0, m, 2**lanes - 1, 7, 0], dtype=np.uint64)
        yield case(
            *(name, m * p, *rows, 1.0, np.zeros((p + 1, lanes)), np.zeros((m, lanes)), terms),
            *(signs.astype(np.uint32), awake, order, limits[:lanes], worst[:lanes], state),
            *(lanes, 1e-9, 1, 10**9),
        )
    columns = np.arange(0, m * p + 1, m, dtype=np.uint64), np.tile(np.arange(m), p)
    columns = columns[0], columns[1].astype(np.uint32), np.ascontiguousarray(Z.T).ravel()
    few, progress = np.arange(p, dtype=np.uint32), np.array([0.0, np.inf])
    state = np.array([0, p, 1, 7, 0], dtype=np.uint64)
    yield case(
        *("descend_columns", m * p, *columns, np.ones(m), np.ones(m), np.zeros(p), few),
        *(progress, state, 1e-9, 1, 10**9),
    )
    state = np.array([0, m, 1, 7, 0], dtype=np.uint64)
    yield case(
        *("descend_coupled", m * p, *rows, 1.0, np.zeros((p + 1, 3)), np.zeros((m, 3))),
        *(np.ones(m), squares, signs % 3, order, progress, state, np.zeros(9), 1e-9, 1, 10**9),
    )


def pair_problem(T: Any) -> tuple[Array, Array, Array, Array]:
    """Return matrix, terms, state and the runs of each group of a soft margin."""
    n = 500
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = np.sign(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(T)
    terms = np.zeros((n + 1, 8))
    terms[:n, :2] = -y[:, None]
    terms[:n, 4:6] = np.minimum(0.0, 5.0 * y)[:, None]
    terms[:n, 6:] = np.maximum(0.0, 5.0 * y)[:, None]
    terms[n] = 0.0, 0.0, 0.0, 0.0, -np.inf, -np.inf, np.inf, np.inf
    state = np.zeros((5, n + 1), dtype=T)
    state[0, :n] = np.where(y > 0, -y, np.inf)
    state[1, :n] = np.where(y > 0, -np.inf, -y)
    state[2:4, :n] = 1.0
    return K, terms, state, np.array([0, 0, 1], np.uint64)


def sweeps(T: Any) -> Iterator[tuple[str, Array, Array, Array, tuple[Any, ...]]]:
    """Yield one sweep of squared losses in a box over sparse and over dense rows."""
    n, p = 1000, 400
    rng = np.random.default_rng(2)
    for form, length in (" of sparse rows", 40), (" of dense rows", p):
        sparse = length < p
        values = rng.normal(size=n * length).astype(T)
        index = np.concatenate([np.sort(rng.permutation(p)[:length]) for _ in range(n)])
        rows = np.zeros((n, 8))
        y = rng.choice([-1.0, 1.0], size=n)
        rows[:, 1] = (values.reshape(n, length).astype(float) ** 2).sum(axis=1) + 1.0
        rows[:, 2:4] = -y[:, None]
        rows[:, 4:6] = 1.0
        rows[:, 6], rows[:, 7] = np.minimum(0.0, 9.0 * y), np.maximum(0.0, 9.0 * y)
        order = np.arange(n, dtype=np.uint64)
        rest = (
            np.ones((n, 1)), np.ones(1), rows, np.zeros(p), np.zeros(1), order, order, 1, 1.0,
            np.zeros(n, bool),
        )  # fmt: skip
        starts = np.arange(0, n * length + 1, length).astype(np.uint64)
        yield form, starts, index[: len(values) * sparse].astype(np.uint32), values, rest


def other_cases() -> Iterator[Case]:
    """Yield the loops that know one precision."""
    rng = np.random.default_rng(3)
    n, m, p = ROWS, COLUMNS, FEATURES
    pairs = n * m
    X, Z = rng.normal(size=(n, p)), rng.normal(size=(m, p))
    hx, hz = 0.5 * (X**2).sum(axis=1), 0.5 * (Z**2).sum(axis=1)
    D, a, f = X @ Z.T, rng.normal(size=m), np.zeros(n)

    def case(loop: str, elements: Any, *arguments: Any, form: str = "") -> Case:
        return Case(loop + form, loop, arguments, elements)

    size = 256
    square = Z[:size] @ Z[:size].T
    half = hz[:size].copy()
    yield case("raise_two_square", size**2, square, half)
    G = rng.normal(size=(n, m))
    for twice in (3, 5):
        nu = f" of {twice}/2"
        yield case("matern_square", size**2, square, half, twice, form=nu)
        yield case("weigh_matern", pairs, D, hx, hz, a, f, twice, form=nu)
    for twice in (0, 3, 5):
        slopes = D, hx, hz, G, m, twice
        yield case("weigh_slopes", pairs, *slopes, form=f" of {twice}/2" if twice else "")
    yield case("weigh_powers", pairs, D, hx, hz, a, f)
    single = np.abs(a).astype(np.float32)
    yield case("weigh_and_bound", pairs, D.astype(np.float32), a, single, f, np.zeros(n))
    factor, columns = np.full(p, 0.1), np.ascontiguousarray(Z.T)
    yield case("weigh_laplace", pairs * p, X, factor, p - 2, columns, 0, a, f)
    tied = Z[:size], factor, p - 2, columns, np.ones((size, size)), 1, size
    halves = size**2 / 2 * p
    yield case("pull_back", halves, *tied, True, np.zeros(1), form=" of one scale")
    yield case("pull_back", halves, *tied, False, np.zeros(p))
    v = np.abs(rng.normal(size=(8, SAMPLES)))
    up, down = np.empty(SAMPLES), np.empty(SAMPLES)
    yield case("slopes_loop", SAMPLES, *v, up, down)
    yield from parts_cases()
    box = -v[0], v[1], v[2], v[3], -v[4], v[5]
    t, c = rng.normal(size=SAMPLES), v[6]
    yield case("rounded", SAMPLES, t, t, 0.1, c, *box, up, down)
    yield case("along", SAMPLES, t, c, c, c)
    yield case("fenchel_young", SAMPLES, t, t, c, *box)
    likely = (1.0 / (1.0 + np.exp(2.0 * t)) + v[7]) / (1.0 + 2.0 * v[7])
    yield case("newton_loop", SAMPLES, t, likely, 0.0, 20, 1e-12, 1e-10)
    yield case("add_leaves", *forest(Z.astype(np.float32)))


def parts_cases() -> Iterator[Case]:
    """Yield the loops over small problems: soft margins of forty samples each."""
    rng = np.random.default_rng(4)
    n_problems, size = 100, 40
    n = n_problems * size
    K, terms, _, _ = pair_problem(np.float64)
    ends = size * np.arange(n_problems + 1, dtype=np.uint64)
    cuts = np.tile(np.array([0, size], np.uint64), (n_problems, 1))
    d, tols = np.zeros((n_problems, 1)), np.full(n_problems, 1e-3)
    index = np.concatenate([rng.permutation(len(K))[:size] for _ in range(n_problems)])
    index = index.astype(np.uint64)
    rows = np.concatenate([terms[index.astype(int)], terms[-1:]])
    most, steps = np.full(n_problems, 10**5), np.zeros(n_problems, np.int64)
    lines = np.zeros(8 * (size + 1) + 6 * (size + 8))
    work = np.zeros(size**2), lines, np.zeros(7, np.uint64), np.zeros(size + 1, np.uint64)
    a, f = np.zeros(n), np.zeros(n)
    problems = K, False, index, ends, cuts, d, rows, tols, most, 1e-9, steps, a, f, *work
    yield Case("solve_parts", "solve_parts", problems, n * size)
    filled = np.full((n_problems, 1), 50.0)
    yield Case("start_parts", "start_parts", (ends, cuts, filled, rows, np.zeros(n)), n)
    values = np.zeros((n_problems, 1)), np.zeros((n_problems, 2)), np.zeros((n_problems, 11))
    moved = np.clip(rng.normal(size=n), rows[:-1, 4], rows[:-1, 7])
    measures = ends, cuts, d, rows, np.full(n, 5.0), tols, 1.0, 1e-16, moved, rng.normal(size=n)
    yield Case("measure_parts", "measure_parts", (*measures, *values), n)


def forest(X: Array) -> tuple[Any, ...]:
    """Return elements and arguments of ten trees of six levels, of one value each."""
    n_trees, levels = 10, 6
    n_inner = 2**levels - 1
    node = np.arange(2 * n_inner + 1)
    inner = node < n_inner
    kind = np.dtype([("cut", "<f4"), ("feature", "<u4"), ("left", "<u4"), ("leaf", "<u4")])
    tree = np.zeros(len(node), kind)
    tree["cut"] = np.where(inner, 0.0, np.inf)
    tree["feature"] = np.where(inner, node % X.shape[1], 0)
    tree["left"] = np.where(inner, 2 * node + 1, node)
    tree["leaf"] = np.where(inner, 0, node - n_inner)
    nodes = np.concatenate([tree] * n_trees)
    first = np.repeat(len(node) * np.arange(n_trees, dtype=np.uint32), len(node))
    nodes["left"] += first
    roots = len(node) * np.arange(n_trees, dtype=np.uint32)
    values = np.ones((n_inner + 1, 1))
    # Eight points at a time, feature by feature.
    blocks = np.ascontiguousarray(X.reshape(-1, 8, X.shape[1]).transpose(0, 2, 1))
    points = blocks.reshape(len(blocks), -1)
    rows, passes = nodes.view(np.uint8).reshape(-1, 16), len(X) * n_trees * levels
    return passes, points, roots, rows, values, np.zeros((len(X), 1))


def cases() -> list[Case]:
    return [
        *typed_cases(np.float32, "float32"),
        *typed_cases(np.float64, "float64"),
        *other_cases(),
    ]


def fresh(arguments: tuple[Any, ...]) -> list[Any]:
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def inside() -> None:
    """Run all loops between marks, and print how many elements each passed."""
    from mercer import _native

    marks = ctypes.CDLL(str(BUILD / "marks.so"))
    if _native.level != LEVEL:
        raise SystemExit(f"the processor that valgrind emulates has {_native.levels}, not {LEVEL}")
    loops = {name for name in dir(_native) if callable(getattr(_native, name))}
    loops = {name for name in loops if not name.startswith("_")} - {"use_level"}
    listed = cases()
    if missing := loops - {case.loop for case in listed}:
        raise SystemExit(f"no input for {', '.join(sorted(missing))}: add a case to {__file__}")
    elements = {}
    # The call itself is counted by a loop of no elements and subtracted; the first binds names.
    calls = Case("first call", "", (), 1.0), Case("call", "", (), 1.0)
    for case in (*calls, *listed):
        loop = getattr(_native, case.loop) if case.loop else lambda: None
        loop(*fresh(case.arguments))
        arguments = fresh(case.arguments)
        name = case.name.encode()
        marks.begin()
        result = loop(*arguments)
        marks.end(name)
        passed = case.elements
        elements[case.name] = passed(result) if callable(passed) else passed
    (BUILD / "elements.json").write_text(json.dumps(elements), encoding="utf-8")


def counts() -> dict[str, float]:
    """Return instructions per element of every case."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    source = BUILD / "marks.c"
    source.write_text(MARKS, encoding="utf-8")
    library = ["cc", "-shared", "-fPIC", "-O1", str(source), "-o", str(BUILD / "marks.so")]
    subprocess.run(library, check=True)
    out = BUILD / "callgrind.out"
    command = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no"]
    command += [f"--callgrind-out-file={out}", sys.executable, __file__, "inside"]
    names = ("OMP", "OPENBLAS", "MKL")
    settings = {f"{name}_NUM_THREADS": "1" for name in names} | {"PYTHONHASHSEED": "0"}
    subprocess.run(command, check=True, env=os.environ | settings | {"MERCER_NATIVE": LEVEL})
    executed = {}
    for file in BUILD.glob("callgrind.out.*"):
        lines = [line.partition(": ")[::2] for line in file.read_text().splitlines()]
        trigger = [text for key, text in lines if key == "desc" and text.startswith("Trigger")]
        name = trigger[0].partition("Client Request: ")[2]
        executed[name] = next(int(text) for key, text in lines if key in ("totals", "summary"))
    elements = json.loads((BUILD / "elements.json").read_text(encoding="utf-8"))
    return {
        name: round((executed[name] - executed["call"]) / passed, 3)
        for name, passed in elements.items()
        if not name.endswith("call")
    }


def main(names: list[str]) -> int:
    """Compare counts with those committed, or write them."""
    if names == ["inside"]:
        inside()
        return 0
    counted = counts()
    if names == ["write"]:
        COMMITTED.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    different = committed.keys() ^ counted.keys()
    for name in sorted(committed.keys() | counted.keys()):
        before, now = committed.get(name, 0.0), counted.get(name, 0.0)
        if name not in different and abs(now - before) > TOLERANCE * before:
            different.add(name)
        mark = "DIFFERENT" if name in different else ""
        print(f"  {name:36} {before:10.3f} {now:10.3f} {mark}")
    if different:
        print(
            f"{len(different)} counts differ from {COMMITTED.name} by more than "
            f"{TOLERANCE:.0%}. If the change is meant, run tools/instructions.py write, and say "
            "why in the commit."
        )
    return len(different) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
