"""The page of kernel PCA, made of what was measured."""

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "kernel-pca.md"
HEAD = """\
# Kernel PCA in numbers

How well does kernel PCA take noise off images, how far do its error bounds reach, and what does it
take for a million rows? This page is written by `make bench SUITE=manifold-kpca`; do not edit it
by hand.
{processor}, {cores} cores, Python {python}, {versions}; {date}, commit `{commit}`.

## Noise taken off digits

1,000 images of 256 pixels with noise of standard deviation 0.25 are all that a method sees; its
mean squared error is measured on 100 other images against what they were before noise. Settings
are chosen on 800 and 200 of the noisy training images by Stein's unbiased estimate of that error,
which knows the level of the noise and no clean image.

| method | settings | candidates | estimate | error |
| --- | --- | ---: | ---: | ---: |
{denoising}

## Eigenvalues of a matrix that is never held

Ten leading eigenvalues of a Gaussian kernel on eight features. A matrix of 100,000 rows would take
80 GB. The block iteration computes it anew, tile by tile, for each of its products, and bounds each
eigenvalue by its residual; centres give a lower bound, and an upper bound by the trace that they
leave. *Outside* counts eigenvalues of the iteration that are not between these.

| rows | how | seconds | memory, MB | largest eigenvalue | largest error | outside |
| ---: | --- | ---: | ---: | ---: | ---: | ---: |
{spectra}

## Files and a cluster

Two passes over Parquet files, with 300 centres; *difference* is the largest between scores of 200
other rows computed from files on this machine and on a Dask cluster of two worker processes.

| rows | how | seconds | memory, MB | largest eigenvalue | largest error | difference |
| ---: | --- | ---: | ---: | ---: | ---: | ---: |
{streams}
"""


def publish(kept: dict[str, Any]) -> None:
    """Write the page."""
    about = kept["about"]
    names = ("mercer", "scikit-learn", "numpy", "scipy")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    text = HEAD.format(
        **about | {"versions": versions},
        denoising="\n".join(map(_denoising, kept["denoising"])),
        spectra="\n".join(_spectra(kept)),
        streams="\n".join(
            f"{_fit(row)} {row.get('difference', 0.0):.1e} |" for row in kept["streams"]
        ),
    )
    PAGE.write_text(text)


def _denoising(row: dict[str, Any]) -> str:
    settings = ", ".join(f"{k}={v}" for k, v in row.get("settings", {}).items())
    estimate = f"{row['estimate']:.4f}" if "estimate" in row else ""
    name = f"**{row['name']}**" if row["name"] == "mercer" else row["name"]
    return (
        f"| {name} | {settings} | {row.get('candidates', '')} | {estimate} | {row['error']:.4f} |"
    )


def _fit(row: dict[str, Any]) -> str:
    return (
        f"| {row['n']:,} | {row['how']} | {row['seconds']:.1f} | {row['peak'] / 1e6:.0f} | "
        f"{row['values'][0]:.6g} | {max(row['errors']):.2g} |"
    )


def _spectra(kept: dict[str, Any]) -> list[str]:
    few = {row["n"]: row for row in kept["centres"]}
    lines = [f"{_fit(row)} |" for row in kept["centres"]]
    for row in kept["exact"]:
        other = few[row["n"]]
        pairs = zip(row["values"], row["errors"], other["values"], other["errors"], strict=True)
        outside = sum(v + e < low * (1 - 1e-9) or v - e > low + left for v, e, low, left in pairs)
        lines.append(f"{_fit(row)} {outside} |")
    return lines
