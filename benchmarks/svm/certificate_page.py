"""The page of the certificate, made of what was measured."""

from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "certificate.md"
HEAD = """\
# What the certificate costs

Support vector machines above 512 rows are solved with kernel values in float32, and certified in
float64: the decision values of support vectors are computed once more from half of their kernel
matrix, and those of other samples only where a proved bound on the float32 error leaves open
whether their loss is zero. This page is written by `make bench SUITE=certificate`; do not edit it
by
hand. {processor}, {cores} cores, one thread, Python {python}, {versions}; {date}, commit
`{commit}`, load of the machine {load:.1f}.
"""
FITS = """
## {count:,} random fits

600 to 5,000 rows, 1 to 20 features, C from 0.01 to 10,000, kernels of six families with widths from
a tenth to three times the spread of the points, `tol=1e-3`, at most ten seconds each. Objective,
lower bound and gap are computed again in plain NumPy from the whole matrix in float64. A bound is
*false* if the reported gap is smaller than that, the objective lower, or the lower bound higher, by
more than the rounding of float64 sums. **{false} of {count:,} are false.**

| machine | C | fits | converged | false | gap / objective | gap / true gap | float32 / gap |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

Ratios of gaps are the median, the largest and the median. The last column is what the gap would be
if the float32 sums were kept and the proved bound on their error were added instead: a bound as
well, twice the gap where C is small and a thousand times it where C is large. Hence the product in
float64. (Huber's loss is smooth, and Newton's method is in float64 all along.)
"""
COST = """
## Its share of a fit

The problems of {{doc}}`benchmark`, in seconds of processor time; of fits below two
seconds the fastest of three is shown.

| problem | rows | support vectors | fit, s | certificate, % | gap / objective |
| --- | ---: | ---: | ---: | ---: | ---: |
{rows}

Geometric mean of fit time with the certificate over fit time without it: {mean:.2f}.
"""
WEIGHTS = """\

## Large weights

What a sample may cost is its weight, `C * sample_weight`. Decision values are sums in double
precision, known to a few units in the sixteenth digit of their largest term, and the weight
multiplies that: with weights of 1e12 an error of 1e-15 costs 1e-3 a sample, with 1e17 more than
everything else in the objective. The gap of a fit includes an estimate of what such rounding can
change. If that makes it more than a hundredth of the objective, the fit is not called converged:
`solution_.status` is `LOOSE`, and the warning has the digits to which decision values are known,
the size of the weights, and the product of both. The objective is then no smaller than what
`predict` costs on the sample.

`C = inf` asks for a hard margin or tube. It is a finite weight, 1e10, beyond which data of
ordinary scale show no difference, and `C_` is what was used. A larger finite C is taken as it is;
scale the targets or lower it where the warning comes.
"""


def publish(kept: dict[str, Any]) -> None:
    """Write the page."""
    about = kept["about"]
    names = ("mercer", "numpy", "scipy", "numba")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    text = HEAD.format(**about | {"versions": versions})
    if "fits" in kept:
        rows = kept["fits"]
        lines = [
            f"| {r['machine']} | {r['C'][0]:g} to {r['C'][1]:g} | {r['fits']} | {r['converged']} | "
            f"{r['false']} | {r['gap']:.1e} | {r['slack']:.3f} | "
            + (f"{r['rough']:,.0f} |" if r["rough"] else "– |")
            for r in rows
        ]
        total, false = (sum(r[key] for r in rows) for key in ("fits", "false"))
        text += FITS.format(count=total, false=false or "None", rows="\n".join(lines))
    if kept.get("cost"):
        lines = [
            f"| {r['name']} | {r['n']:,} | {r['support']:,} | {r['fit']:.2f} | "
            f"{100 * r['share']:.1f} | {r['gap']:.1e} |"
            for r in kept["cost"]
        ]
        shares = np.array([r["share"] for r in kept["cost"]])
        mean = float(np.exp(-np.mean(np.log1p(-shares))))
        text += COST.format(rows="\n".join(lines), mean=mean)
    PAGE.write_text(text + WEIGHTS)
