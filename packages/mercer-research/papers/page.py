"""The results as a page of the documentation."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from papers.outcome import Claim, Result

ROOT = Path(__file__).resolve().parents[3]
PAGE, EXAMPLES = ROOT / "docs" / "explanation" / "reproductions.md", ROOT / "examples"

INTRODUCTION = """\
# Reproductions

Experiments, figures and tables of the documents that this library was built from, run again by
`make reproduce`. Every claim has a range that counts as agreement and the reason for it.

- **yes**: the number lies in its range. **not reproduced**: it does not, and need not, because the
  source leaves splits, widths, noise or a machine's speed open. A claim that must hold and does not
  is marked **no**, and fails the run.
- **recorded only**: a number beside its reference that is not judged, because a range derived from
  the experiment would include nearly everything. A test refuses ranges that cannot fail: ranges
  that reach beyond the possible values, that include what a predictor without any knowledge gives,
  or whose upper end is more than four times the lower one (60 per cent to each side, or a factor
  of two).
- A *reference* that the source prints is marked so; any other was computed independently of this
  library, by another program or in closed form.
- Where settings or ranges were changed after numbers had been seen, the section of the experiment
  says what they were before and what came out then. Where a source leaves something open, the
  settings say how it was filled in.

The page is written by the program; do not edit it by hand. How to run one experiment, or to add
one: [reproduce a figure](../contribute/reproduce-a-figure.md).

Sources: A. J. Smola, *Learning with Kernels*, TU Berlin 1998; K. Pelckmans, *Primal-Dual Kernel
Machines*, KU Leuven 2005; J. Weston and R. Herbrich, *Adaptive Margin Support Vector Machines*, in
*Advances in Large Margin Classifiers*, MIT Press 2000; A. J. Smola, S. Mika, B. Schölkopf and R. C.
Williamson, *Regularized Principal Manifolds*, J. Machine Learning Research 1, 2001.
"""

MISSING = """\
## What cannot be had

- **Table 2.1 of adaptive margins, column AB_R** (AdaBoost with slack variables): its rule is in
  none of the documents, which quote its errors from Rätsch, Onoda and Müller 1998. The original
  splits 11 to 100 of all sets, and all splits of diabetis and thyroid, are lost; others were drawn.
- **Table 6.2, columns of Zhang and Hutchinson and of Pawelzik and others**: quoted there from other
  authors. Which patterns the segmented set has is not printed.
- **Charm tagging and particle data** (Smola 1998, section 6.1, figures 6.1 to 6.4): the data are
  not public.
- **Hepatitis with missing inputs** (Pelckmans 2005, example 6.3, figure 6.7b): the data are not
  among those of the tests.
- **Seismogram and dunes** (Pelckmans 2005, figure 9.4): pictures without data. Figures that survive
  as captions only have no numbers to compare with; the sections above say so.
"""


def page(results: Mapping[str, Result]) -> str:
    """Put the page together: a table of all experiments, then one for each."""
    claims = [claim for result in results.values() for claim in result.claims]
    judged = [claim for claim in claims if claim.judged]
    summary = (
        f"Of {len(judged)} claims that are judged in {len(results)} experiments, "
        f"{sum(claim.holds for claim in judged)} hold; {len(claims) - len(judged)} further numbers "
        "are recorded only.\n"
    )
    lines = [INTRODUCTION, summary, "| experiment | source | claims that hold |"]
    lines.append("| --- | --- | --- |")
    for result in results.values():
        anchor = "".join(c for c in result.title.lower() if c.isalnum() or c in " -")
        lines.append(
            f"| [{result.title}](#{anchor.replace(' ', '-')}) | {result.source} | {result.tally} |"
        )
    for name, result in results.items():
        lines += ["", *section(name, result)]
    return "\n".join([*lines, "", MISSING])


def section(name: str, result: Result) -> Iterator[str]:
    yield f"## {result.title}"
    yield ""
    yield f"{result.source}. {result.settings}"
    yield ""
    drawn = ""
    if result.gallery:
        where = next((path.parent.name for path in EXAMPLES.glob(f"*/{result.gallery}.py")), ".")
        drawn = f" Drawn in the gallery: {{doc}}`/auto_examples/{where}/{result.gallery}`."
    yield f"Run by `python packages/mercer-research/papers/run.py {name}`.{drawn}"
    yield ""
    if result.revised:
        yield f"Changed after numbers had been seen: {result.revised}"
        yield ""
    yield "| claim | reference | ours | agreement | because | holds |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for claim in result.claims:
        yield row(claim)


def row(claim: Claim) -> str:
    reference = "" if claim.reference is None else number(claim.reference)
    if claim.printed:
        reference += " (printed)"
    verdict = "yes" if claim.holds else "**no**" if claim.must else "not reproduced"
    if not claim.judged:
        verdict = "recorded only"
    cells = (claim.what, reference, number(claim.ours), agreement(claim), claim.why, verdict)
    # A bar would end the cell.
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def agreement(claim: Claim) -> str:
    if not claim.judged:
        return ""
    low, high = (number(end) for end in (claim.low, claim.high))
    least, most = claim.values
    if claim.low <= least:
        return f"at most {high}"
    if claim.high >= most:
        return f"at least {low}"
    half = 0.5 * (claim.high - claim.low)
    if claim.reference is not None and half < 1e-3 * abs(claim.reference or 1.0):
        return f"± {half:.1g}"
    return f"{low} to {high}"


def number(x: float) -> str:
    """Return four digits, or all of a number that is exact in fewer."""
    return f"{x:.4g}".replace("e-0", "e-").replace("e+0", "e")
