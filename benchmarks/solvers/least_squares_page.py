"""The page of least squares, made of what was measured."""

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "least-squares.md"
MIB = 2**20
HEAD = """\
# Least squares, small and large

What a least-squares machine costs beside the factorization that nobody avoids, and what it costs
where no matrix fits. This page is written by `make bench SUITE=ls`; do not edit it by hand.

{processor}, {cores} cores, Python {python}, {versions}; {date}. The load of the machine was
{load:.1f}: where that is more than its cores, clocks say little, and the tables show the
processor's time, with who is compared taking turns in one process.

## A fit beside its Cholesky factor

Eight features, a Gaussian kernel, C = 10, an intercept, one thread; `dpotrf` is LAPACK's
factorization in place, of a matrix that is there. A fit of a given matrix also copies it,
checks it for numbers that are not finite, solves with targets and border, and
certifies the answer by one more product; a fit of points computes the matrix, too.

| n | `dpotrf`, s | given matrix | points less kernel | kernel | KernelRidge | Gaussian process |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{fits}

All but the first column are in units of `dpotrf`: a fit of a given matrix, one of points without
the time of the kernel matrix, that time, scikit-learn's `KernelRidge` of the given matrix and its
`GaussianProcessRegressor` of the points with a fixed kernel. These two have no intercept and no
certificate; without intercept the coefficients agree with KernelRidge's to {apart:.0e}.

## A path beside its eigendecomposition

100 weights C from 1e-3 to 1e3 with the exact leave-one-out residuals of each, by
`mercer.smoothing.Spectral` with an intercept, against one bare `numpy.linalg.eigh` of the matrix.

| n | `eigh`, s | path and residuals, in units of it | off the explicit inverse by |
| ---: | ---: | ---: | ---: |
{paths}

## Without a matrix

Rows of cod-rna (8 features, standardized, targets plus and minus one), Gaussian kernel of
length scale {width:g}, C = {C:g}, an intercept, `ConjugateGradient(tol={tol:g})` over a `Tiled`
Gram on all cores: the residual is measured in float64 against kernel values in float64, and is the
largest entry, where the targets are one. A step is a product with all targets. Bare values are
n^2 / 2 Gaussians in float32 by BLAS and `exp`, nothing else. Memory is what the process took
above what it held with the points loaded, {points}.

| n | factor | targets | steps | residual | processor, s | clock, s | step, s | bare, s | MiB |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{large}

{growth}

The thin factor and the kernel values that are kept take at most `max_bytes`, by default four
gigabytes as for a factorization, whatever n is; beside them there are a copy of the points in
float32, tiles in the processor's cache and a few dozen vectors. Rows of the matrix are drawn for
the factor in proportion to what is left of the diagonal, while the products they save cost more
than they do: some 10 sqrt(n) of them for C = 10. The factor is in single precision where double
would not fit or is not needed. Memory that it leaves holds the first rows of the kernel matrix,
half of them because the matrix is symmetric, in float32: computed once, and read in every step. Up
to some 41,000 rows that is all of them. The figures above are older: nothing was kept then, and
the factor had 4 sqrt(n) columns.
`make bench SUITE=exact-large` measures it.
"""


def ratio(times: dict[str, Any], name: str, less: str = "") -> str:
    if name not in times:
        return ""
    cpu = times[name]["cpu"] - (times[less]["cpu"] if less else 0.0)
    return f"{cpu / times['dpotrf']['cpu']:.2f}"


def fit_line(r: dict[str, Any]) -> str:
    times = r["times"]
    cells = [
        f"{r['n']:,}",
        f"{times['dpotrf']['cpu']:.3f}",
        ratio(times, "fit of a given matrix"),
        ratio(times, "fit of points", "kernel matrix"),
        ratio(times, "kernel matrix"),
        ratio(times, "KernelRidge, given matrix"),
        ratio(times, "GaussianProcessRegressor"),
    ]
    return "| " + " | ".join(cells) + " |"


def path_line(r: dict[str, Any]) -> str:
    eigh, path = (r["times"][name]["cpu"] for name in ("eigh", "path and errors"))
    return f"| {r['n']:,} | {eigh:.2f} | {path / eigh:.2f} | {r['apart']:.0e} |"


def large_line(r: dict[str, Any]) -> str:
    kind = {"auto": "thin", "none": "none"}[r["preconditioner"]]
    cells = [
        f"{r['n']:,}",
        kind if r["converged"] else f"{kind}, stopped",
        str(r["targets"]),
        str(r["iterations"]),
        f"{r['violation']:.0e}",
        f"{r['cpu']:.0f}",
        f"{r['wall']:.0f}",
        f"{r['step_cpu']:.2f}",
        f"{r['bare']:.2f}",
        f"{r['peak'] / MIB:,.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


def growth(large: list[dict[str, Any]]) -> str:
    """Say what the thin factor saves, and what a matrix would take."""
    lines = []
    for thin in (r for r in large if r["preconditioner"] == "auto" and r["targets"] == 1):
        for plain in (r for r in large if r["n"] == thin["n"] and r["preconditioner"] == "none"):
            matrix = 8 * thin["n"] ** 2 / 2**30
            after = f"the residual is {plain['violation']:.0e} after {plain['iterations']} steps"
            saved = f"{plain['iterations']} steps are taken instead of {thin['iterations']}"
            lines.append(
                f"For {thin['n']:,} rows, whose matrix would take {matrix:.0f} GiB, without the "
                f"thin factor {saved if plain['converged'] else after}."
            )
    return " ".join(lines)


def page(kept: dict[str, Any]) -> str:
    """Return the page."""
    about, large = kept["about"], kept["large"]
    names = ("numpy", "scipy", "scikit-learn", "numba")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    points = ", ".join(
        f"{r['points'] / MIB:.1f} MiB at {r['n']:,}"
        for r in large
        if r["preconditioner"] == "auto" and r["targets"] == 1
    )
    return HEAD.format(
        **about | {"versions": versions},
        fits="\n".join(map(fit_line, kept["fits"])),
        apart=max(r["apart"] for r in kept["fits"] if "apart" in r),
        paths="\n".join(map(path_line, kept["paths"])),
        large="\n".join(map(large_line, large)),
        growth=growth(large),
        points=points,
        **kept["settings"],
    )
