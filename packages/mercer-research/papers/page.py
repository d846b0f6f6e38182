"""The results as one table of the documentation."""

from collections.abc import Mapping
from pathlib import Path

from papers.outcome import Claim, Result
from papers.places import PLACES

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "explanation" / "reproductions.md"

INTRODUCTION = """\
# Reproductions

Experiments, figures and tables of the documents that this library was built from, run again by
`make reproduce`. Every claim has a range that counts as agreement, fixed with its reason in the
program that the first column links; a claim that must hold and does not fails the run. Results with
settings, ranges and what was changed after numbers had been seen are the JSON files in `results`
beside each program. Run one or add one: [reproduce a figure](../contribute/reproduce-a-figure.md).

**yes**: every claim that is judged holds. **partly**: at least half of them do. **no**: fewer. The
figure is the first that differs, or else the first that the document prints. A star marks a
reference that was computed independently of this library instead of printed.

Sources: A. J. Smola, *Learning with Kernels*, TU Berlin 1998; K. Pelckmans, *Primal-Dual Kernel
Machines*, KU Leuven 2005; J. Weston and R. Herbrich, *Adaptive Margin Support Vector Machines*, in
*Advances in Large Margin Classifiers*, MIT Press 2000; A. J. Smola, S. Mika, B. Schölkopf and R. C.
Williamson, *Regularized Principal Manifolds*, J. Machine Learning Research 1, 2001.
"""

MISSING = """\
Not available: errors of AdaBoost with slack variables (its rule is in no document), columns of
other authors in table 6.2 of Smola 1998, the particle data of its section 6.1, hepatitis (Pelckmans
2005, figure 6.7b), and the pictures without data of its figure 9.4.
"""


def page(results: Mapping[str, Result]) -> str:
    """Put the page together: how many claims hold, and a row for each experiment."""
    judged = [claim for result in results.values() for claim in result.claims if claim.judged]
    summary = (
        f"Of {len(judged)} claims that are judged in {len(results)} experiments, "
        f"{sum(claim.holds for claim in judged)} hold.\n"
    )
    lines = [INTRODUCTION, summary]
    lines.append("| experiment | document | reproduced | figure | reference | ours | note |")
    lines.append("| --- | --- | --- | --- | ---: | ---: | --- |")
    lines += [row(name, result) for name, result in results.items()]
    return "\n".join([*lines, "", MISSING])


def row(name: str, result: Result) -> str:
    place = PLACES[name]
    link = f"../../packages/mercer-research/papers/{place.parent.name}/{place.name}"
    claim = shown(result)
    reference = ""
    if claim.reference is not None:
        reference = number(claim.reference) + ("" if claim.printed else "*")
    judged = [claim for claim in result.claims if claim.judged]
    held = sum(claim.holds for claim in judged)
    verdict = "yes" if held == len(judged) else "partly" if 2 * held >= len(judged) else "no"
    source = result.source.replace("Smola, Mika, Schölkopf and Williamson", "Smola et al.")
    source = source.replace(", *Adaptive Margin Support Vector Machines*", " 2000")
    cells = (
        *(f"[{result.title}]({link})", source, f"{verdict}, {held}/{len(judged)}"),
        *(claim.what, reference, number(claim.ours), result.note),
    )
    # A bar would end the cell.
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def shown(result: Result) -> Claim:
    """Return the claim whose figure stands in the table: one that differs, if one does."""
    judged = [claim for claim in result.claims if claim.judged]
    kinds = (
        lambda c: not c.holds and c.printed,
        lambda c: not c.holds and c.reference is not None,
        lambda c: not c.holds,
        lambda c: c.printed,
        lambda c: c.reference is not None,
        lambda c: True,
    )
    return next(claim for kind in kinds for claim in judged if kind(claim))


def number(x: float) -> str:
    """Return four digits, or all of a number that is exact in fewer."""
    return f"{x:.4g}".replace("e-0", "e-").replace("e+0", "e")
