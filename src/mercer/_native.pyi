"""Compiled loops: arrays in, arrays out; `native/*.hpp` say what each computes.

Arrays are read and written as they are. One of another dtype, number of axes or step is refused by
TypeError, one of a length or an index that does not fit by ValueError. Columns of sparse rows
(`sweep`) and nodes of forests (`add_leaves`) are trusted.
"""

from typing import Any

from mercer._typing import AnyArray

level: str
"""Level of the processor whose loops are used; ``MERCER_NATIVE`` chooses another one at import."""

levels: tuple[str, ...]
"""All levels that this processor has, the best one last."""

def use_level(name: str) -> None: ...
def in_units(
    X: AnyArray, origin: AnyArray, factor: AnyArray, units: AnyArray, half: AnyArray, /
) -> None: ...
def raise_two(D: AnyArray, hx: AnyArray, hz: AnyArray, /) -> None: ...
def powers_of_two(
    D: AnyArray, hx: AnyArray, hz: AnyArray, flat: AnyArray, step: int, /
) -> None: ...
def exponents(D: AnyArray, hx: AnyArray, hz: AnyArray, /) -> None: ...
def matern(D: AnyArray, hx: AnyArray, hz: AnyArray, twice: int, /) -> None: ...
def repair(
    flat: AnyArray,
    step: int,
    m: int,
    X: AnyArray,
    Z: AnyArray,
    factor: AnyArray,
    rows: AnyArray,
    lowest: AnyArray,
    exponential: bool,
    /,
) -> None: ...
def raise_two_square(D: AnyArray, half: AnyArray, /) -> None: ...
def matern_square(D: AnyArray, half: AnyArray, twice: int, /) -> None: ...
def weigh_slopes(
    D: AnyArray, hx: AnyArray, hz: AnyArray, G: AnyArray, first: int, twice: int, /
) -> None: ...
def weigh(K: AnyArray, a: AnyArray, f: AnyArray, /) -> None: ...
def weigh_powers(D: AnyArray, hx: AnyArray, hz: AnyArray, a: AnyArray, f: AnyArray, /) -> None: ...
def weigh_matern(
    D: AnyArray, hx: AnyArray, hz: AnyArray, a: AnyArray, f: AnyArray, twice: int, /
) -> None: ...
def weigh_and_bound(K: AnyArray, a: AnyArray, w: AnyArray, f: AnyArray, e: AnyArray, /) -> None: ...
def weigh_both(K: AnyArray, a: AnyArray, f: AnyArray, b: AnyArray, g: AnyArray, /) -> None: ...
def laplace(
    X: AnyArray,
    factor: AnyArray,
    numbers: int,
    columns: AnyArray,
    start: int,
    m: int,
    flat: AnyArray,
    step: int,
    /,
) -> None: ...
def weigh_laplace(
    X: AnyArray,
    factor: AnyArray,
    numbers: int,
    columns: AnyArray,
    start: int,
    a: AnyArray,
    f: AnyArray,
    /,
) -> None: ...
def pull_back(
    X: AnyArray,
    factor: AnyArray,
    numbers: int,
    columns: AnyArray,
    G: AnyArray,
    first: int,
    last: int,
    tied: bool,
    sums: AnyArray,
    /,
) -> None: ...
def add_rows(F: AnyArray, flat: AnyArray, starts: AnyArray, t: AnyArray, /) -> None: ...
def assemble(
    out: AnyArray,
    old: AnyArray,
    here: AnyArray,
    there: AnyArray,
    added: AnyArray,
    slots: AnyArray,
    store: AnyArray,
    columns: AnyArray,
    /,
) -> None: ...
def slopes_loop(
    F: AnyArray,
    a: AnyArray,
    p_pos: AnyArray,
    p_neg: AnyArray,
    q_pos: AnyArray,
    q_neg: AnyArray,
    lower: AnyArray,
    upper: AnyArray,
    up: AnyArray,
    down: AnyArray,
    /,
) -> None: ...
def pair_loop(
    K: AnyArray,
    a: AnyArray,
    terms: AnyArray,
    state: AnyArray,
    ends: AnyArray,
    runs: AnyArray,
    tol: float,
    max_iter: int,
    idle: int,
    /,
) -> tuple[int, float]: ...
def mirror_rows(
    K: AnyArray, places: AnyArray, among: AnyArray, first: int, last: int, /
) -> None: ...
def weigh_tiles(
    x: AnyArray,
    z: AnyArray,
    weights: AnyArray,
    sums: AnyArray,
    number: int,
    offset: float,
    /,
) -> None: ...
def fill_tiles(
    x: AnyArray,
    z: AnyArray,
    places: AnyArray,
    out: AnyArray,
    number: int,
    offset: float,
    /,
) -> None: ...
def sweep(
    starts: AnyArray,
    columns: AnyArray,
    values: AnyArray,
    B: AnyArray,
    rho: AnyArray,
    rows: AnyArray,
    w: AnyArray,
    beta: AnyArray,
    active: AnyArray,
    blocks: AnyArray,
    size: int,
    limit: float,
    resting: AnyArray,
    /,
) -> float: ...
def solve_parts(*arguments: Any) -> None: ...
def start_parts(
    ends: AnyArray, cuts: AnyArray, d: AnyArray, terms: AnyArray, a: AnyArray, /
) -> None: ...
def measure_parts(*arguments: Any) -> None: ...
def rounded(*arguments: Any) -> tuple[float, float, float, float, int]: ...
def along(
    g: AnyArray, c: AnyArray, v: AnyArray, bent: AnyArray, /
) -> tuple[float, float, float]: ...
def fenchel_young(*arguments: Any) -> tuple[float, float, float]: ...
def newton_loop(
    x: AnyArray, t: AnyArray, b: float, steps: int, ridge: float, level: float, /
) -> tuple[float, float]: ...
def add_leaves(
    blocks: AnyArray, roots: AnyArray, nodes: AnyArray, values: AnyArray, out: AnyArray, /
) -> None: ...
def descend(*arguments: Any) -> None: ...
def descend_classes(*arguments: Any) -> None: ...
def descend_targets(*arguments: Any) -> None: ...
def descend_columns(*arguments: Any) -> None: ...
def descend_coupled(*arguments: Any) -> None: ...
