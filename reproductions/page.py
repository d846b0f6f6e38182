"""The results as a page of the documentation."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from reproductions.outcome import Claim, Result

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "reproductions.md"

INTRODUCTION = """\
# Reproductions

Experiments, figures and tables of the documents that this library was built from, run again by
`make reproduce`. Every claim has a range that counts as agreement and the reason for it; where
settings or ranges were changed after numbers had been seen, the section of the experiment says
what they were before and what came out then. A *reference* that the source prints is marked so; any
other was computed independently of this library, by another program or in closed form. Where a
source leaves something open, the settings say how it was filled in. The page is written by the
program; do not edit it by hand. How to run one experiment, or to add one:
[reproduce a figure](../how-to/reproduce-a-figure.md).

Sources: A. J. Smola, *Learning with Kernels*, TU Berlin 1998; K. Pelckmans, *Primal-Dual Kernel
Machines*, KU Leuven 2005.
"""


def page(results: Mapping[str, Result]) -> str:
    """Put the page together: a table of all experiments, then one for each."""
    lines = [INTRODUCTION, "| experiment | source | claims that hold |"]
    lines.append("| --- | --- | --- |")
    for result in results.values():
        anchor = "".join(c for c in result.title.lower() if c.isalnum() or c in " -")
        lines.append(
            f"| [{result.title}](#{anchor.replace(' ', '-')}) | {result.source} | "
            f"{sum(claim.holds for claim in result.claims)} of {len(result.claims)} |"
        )
    for name, result in results.items():
        lines += ["", *section(name, result)]
    return "\n".join(lines) + "\n"


def section(name: str, result: Result) -> Iterator[str]:
    yield f"## {result.title}"
    yield ""
    yield f"{result.source}. {result.settings}"
    yield ""
    drawn = ""
    if result.gallery:
        drawn = f" Drawn in the gallery: {{doc}}`/auto_examples/{result.gallery}`."
    yield f"Run by `python reproductions/reproduce.py {name}`.{drawn}"
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
    verdict = "yes" if claim.holds else "**no**" if claim.must else "no, for the record"
    cells = (claim.what, reference, number(claim.ours), agreement(claim), claim.why, verdict)
    # A bar would end the cell.
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def agreement(claim: Claim) -> str:
    low, high = (number(end) for end in (claim.low, claim.high))
    if claim.low == float("-inf"):
        return f"at most {high}"
    if claim.high == float("inf"):
        return f"at least {low}"
    half = 0.5 * (claim.high - claim.low)
    if claim.reference is not None and half < 1e-3 * abs(claim.reference or 1.0):
        return f"± {half:.1g}"
    return f"{low} to {high}"


def number(x: float) -> str:
    """Return four digits, or all of a number that is exact in fewer."""
    return f"{x:.4g}".replace("e-0", "e-").replace("e+0", "e")
