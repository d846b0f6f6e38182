"""What may be claimed of a fitted machine, on a page."""

from __future__ import annotations

import html
import json
import re
import textwrap
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._optional import plugin
from mercer._typing import PointsLike, SplitterLike, TargetsLike
from mercer.kernels.base import Kernel
from mercer.risk_bounds import conditions, losses_of
from mercer_research.risk_bounds.all_bounds import ReportSample, Rung, known_without, ladder
from mercer_research.risk_bounds.assumptions import Audit, audit
from mercer_research.risk_bounds.capacity import ClassSize, machine_size
from mercer_research.risk_bounds.fitted_parts import chosen, innermost, parts, title

__all__ = ["CapacityReport", "capacity_report"]

LINE_LETTERS = 96


@dataclass(frozen=True, eq=False)
class CapacityReport:
    """What may be claimed of a fitted machine; see :func:`capacity_report`."""

    name: str
    """The model, in words."""

    n_samples: int
    n_test: int

    delta: float
    """Probability that a bound fails."""

    trivial: float
    """What is known without theory: the error of the majority class, or of the median."""

    training_error: float
    test_error: float | None

    audit: Audit
    """What was done to the rows."""

    rungs: tuple[Rung, ...]
    """All bounds, those to be quoted first."""

    size: ClassSize | None
    """Capacity on the sample, to compare by; None for machines that are no function of a kernel."""

    unit: str = "error rate"
    """What the bounds bound."""

    seconds: float = 0.0
    """Time that the report took."""

    @property
    def without(self) -> str:
        """What needs no machine, in words."""
        classes = self.unit == "error rate"
        return "always the larger class" if classes else "always the median"

    @property
    def claim(self) -> Rung | None:
        """The bound to quote: from held-out rows if it holds, else the least from training rows.

        Bounds that are unproved come after those.
        """
        for status in ("holds", "unproved"):
            some = [rung for rung in self.rungs if rung.status == status]
            some.sort(key=lambda rung: rung.bound.value if rung.bound else np.inf)
            some.sort(key=lambda rung: rung.rows != "held out")
            if some:
                return some[0]
        return None

    def sentence(self) -> str:
        """Return the claim as a sentence that may be printed, with all that it rests on."""
        claim, sure = self.claim, f"{100 * (1 - self.delta):g} %"
        if claim is None or claim.bound is None:
            return (
                "Nothing may be claimed: every bound is refused or says no more than what is known "
                f"without it ({self.trivial:.3g})."
            )
        refit = ", of the machine refitted to them" if "agreement" in claim.bound.constants else ""
        return (
            f"{'Not proved: with' if claim.status == 'unproved' else 'With'} probability {sure} "
            f"the {self.unit} on new rows is at most {claim.bound.value:.3g}, by "
            f"{claim.bound.method}{refit}{conditions(claim.bound.rests_on)}."
        )

    def summary(self) -> str:
        """Return the page as text."""
        lines = [f"What may be claimed: {self.name}", "=" * min(LINE_LETTERS, 22 + len(self.name))]
        lines += textwrap.wrap(self.sentence(), LINE_LETTERS)
        test = (
            ""
            if self.test_error is None
            else f", on {self.n_test} held-out rows {self.test_error:.3g}"
        )
        lines += [
            f"{self.unit} on {self.n_samples} training rows {self.training_error:.3g}{test}; "
            f"{self.without} {self.trivial:.3g}",
            "",
            f"Bounds on the {self.unit}, each with probability {100 * (1 - self.delta):g} %",
        ]
        before = ""
        for rung in self.rungs:
            same = rung.why == before
            why = rung.why if not same else "For the same reason." * (rung.status == "refused")
            lines.append(f"  {rung.name:<28}{_shown(rung):>7}  {rung.status}")
            lines += _wrapped(why, "      ", "      ")
            before = rung.why or before
        lines += ["", "What was done to the rows"]
        for finding in self.audit.findings or ["Nothing was found that forbids a bound."]:
            lines += _wrapped(finding, "  - ", "    ")
        return "\n".join([*lines, *self._size_lines()])

    def _size_lines(self) -> list[str]:
        s = self.size
        if s is None:
            return []
        words = "margin" if self.unit == "error rate" else "training error"
        found = [
            ("kernel", _short(s.kernel)),
            ("norm of the function", f"{s.norm:.3g}"),
            ("fat-shattering dimension", f"<= {s.fat_dimension:.4g} at the {words}"),
            ("effective rank", f"{s.effective_rank:.3g} of {s.n_samples}"),
        ]
        if s.effective_dimension is not None:
            low, high = (f"{value:.3g}" for value in s.effective_dimension)
            words = low if low == high else f"{low} to {high}"
            found.append(("effective dimension at C", words))
        head = "Capacity on this sample: to compare kernels and widths by, not a risk"
        return ["", head, *(f"  {name:<28}{text}" for name, text in found)]

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__

    def records(self) -> list[dict[str, Any]]:
        """Return the ladder as a list of rows: name, value, status, rows used, reason."""
        return [
            {
                "bound": rung.name,
                "value": None if rung.bound is None else float(rung.bound.value),
                "status": rung.status,
                "rows": rung.rows,
                "method": "" if rung.bound is None else rung.bound.method,
                "why": rung.why,
            }
            for rung in self.rungs
        ]

    def to_frame(self) -> Any:
        """Return the ladder as a pandas data frame."""
        names, rows = list(self.records()[0]), [list(one.values()) for one in self.records()]
        return plugin("pandas").DataFrame(rows, columns=names, dtype=object).infer_objects()

    def to_dict(self) -> dict[str, object]:
        """Return everything as numbers, words, lists and dicts, for ``json.dumps``."""
        s = self.size
        out: dict[str, object] = {
            "model": self.name,
            "claim": self.sentence(),
            "n_samples": self.n_samples,
            "n_test": self.n_test,
            "delta": self.delta,
            "unit": self.unit,
            "trivial": self.trivial,
            "training_error": self.training_error,
            "test_error": self.test_error,
            "bounds": [
                {
                    **record,
                    "assumptions": [
                        {"text": a.text, "status": a.status}
                        for a in (rung.bound.assumptions if rung.bound else ())
                    ],
                }
                for record, rung in zip(self.records(), self.rungs, strict=True)
            ],
            "audit": [
                {
                    "rows": rows,
                    "topic": topic,
                    "status": known.status,
                    "why": self.audit.reasons[rows, topic],
                }
                for rows, topic, known in self.audit
            ],
            "n_settings": _finite(self.audit.n_settings),
        }
        if s is not None:
            out["capacity"] = {
                "kernel": repr(s.kernel),
                "norm": s.norm,
                "precision": s.precision,
                "fat_dimension": s.fat_dimension,
                "effective_rank": s.effective_rank,
                "effective_dimension": s.effective_dimension,
                "eigenvalues": s.eigenvalues.tolist(),
            }
        return out

    def to_json(self, **how: Any) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), **how)

    def _repr_html_(self) -> str:
        colours = {
            "holds": "#2e7d32",
            "unproved": "#ef6c00",
            "estimate": "#1565c0",
            "refused": "#b71c1c",
        }
        rows = "".join(
            f"<tr><td>{html.escape(one['bound'])}</td><td>{_shown(rung)}</td>"
            f"<td style='color:{colours.get(one['status'], '#757575')}'>{one['status']}</td>"
            f"<td style='text-align:left'>{html.escape(one['why'])}</td></tr>"
            for one, rung in zip(self.records(), self.rungs, strict=True)
        )
        findings = "".join(f"<li>{html.escape(one)}</li>" for one in self.audit.findings)
        size = "<br>".join(html.escape(line.strip()) for line in self._size_lines()[1:])
        return (
            f"<b>{html.escape(self.sentence())}</b>"
            f"<table><tr><th>bound</th><th>{self.unit}</th><th></th><th>why</th></tr>{rows}</table>"
            f"<ul>{findings}</ul><p>{size}</p>"
        )


def _shown(rung: Rung) -> str:
    """Return the number of a bound, nothing for one that may not be quoted."""
    return "" if rung.bound is None or rung.status == "refused" else f"{rung.bound.value:.3g}"


def _wrapped(words: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(words, LINE_LETTERS, initial_indent=first, subsequent_indent=rest)


def _short(kernel: Kernel) -> str:
    """Return a kernel in words, with four digits of its numbers."""
    return re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", repr(kernel))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def capacity_report(
    model: object,
    X: PointsLike,
    y: TargetsLike,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
    *,
    delta: float = 0.05,
    tuned_by: object = (),
    largest: float | None = None,
    cv: SplitterLike = "auto",
    random_state: int = 0,
) -> CapacityReport:
    r"""Say what may be claimed of a fitted machine: bounds, an audit, and capacity to compare by.

    Three parts. Every bound that the model admits, from the error on held-out rows to PAC-Bayes and
    Rademacher; each is refused, or pays, for what was done to its rows. What was done to the rows.
    And the size of the machine's class on this sample: eigenvalues, effective rank and
    fat-shattering dimension, which compare kernels and are no risks.

    Parameters
    ----------
    model : fitted classifier or regressor
        Or a pipeline, a search, or the result of :func:`mercer.selection.tune`.
    X, y : training rows and their targets
    X_test, y_test : held-out rows and their targets, optional
        The best bound by far comes from them.
    delta : float, default=0.05
        Probability that a bound fails: once for the held-out rows, once for all bounds from
        training rows together.
    tuned_by : search or list of searches
        From which settings were taken, as in :func:`audit`.
    largest : float, optional
        Of a regressor: errors above it count as so large. To be fixed before the rows are seen; by
        default the range of the training targets, which only serves the held-out rows.
    cv : int, splitter, "auto" or None, default="auto"
        Cross-validation beside the bounds, as many fits again; "auto" is 5 up to 2,000 rows, and
        None leaves it out.
    random_state : int, default=0

    Returns
    -------
    CapacityReport
        ``print`` shows a page; :class:`mercer_research.plotting.CapacityDisplay` draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = np.log(X + 1)
    >>> machine = SVC(gamma=0.3, C=10.0).fit(X[:400], y[:400])
    >>> report = capacity_report(machine, X[:400], y[:400], X[400:], y[400:])
    >>> print(textwrap.fill(report.sentence(), 96))
    With probability 95 % the error rate on new rows is at most 0.0612, by binomial tail on held-out
    rows, assuming that the rows were split before anything was fitted to them, the table was not
    scaled with the held-out rows, the features were chosen without the held-out rows, the settings
    were chosen without the held-out rows and the held-out rows are independent draws, none a copy
    of another row.
    >>> [(rung.name, rung.status) for rung in report.rungs][:3]
    [('held-out rows', 'holds'), ('cross-validation', 'estimate'), ('compression', 'holds')]
    """
    began = time.perf_counter()
    if (X_test is None) != (y_test is None):
        raise ValueError("give X_test and y_test together, or neither")
    y = np.asarray(y)
    sample = ReportSample(X, y, X_test, None if y_test is None else np.asarray(y_test))
    found = audit(model, X, y, X_test, sample.y_test, tuned_by=tuned_by)
    made = {"delta": delta, "largest": largest, "cv": cv, "random_state": random_state}
    rungs = ladder(model, sample, found, **made)
    chain = list(parts(model, X))
    classifies = bool(is_classifier(chosen(model)))
    clip = None if classifies else largest or float(np.ptp(y))
    machine = innermost(model, X)
    size = machine_size(machine.fitted, machine.X, y, classifies=classifies)
    predictor = chosen(model)
    held = sample.y_test is not None
    return CapacityReport(
        name=" > ".join(title(part.fitted) for part in chain),
        n_samples=len(y),
        n_test=len(sample.y_test) if sample.y_test is not None else 0,
        delta=delta,
        trivial=known_without(y, clip),
        training_error=float(losses_of(predictor, X, y, clip).mean()),
        test_error=float(losses_of(predictor, X_test, sample.y_test, clip).mean())
        if held
        else None,
        audit=found,
        rungs=tuple(rungs),
        size=size,
        unit="error rate" if classifies else f"absolute error (clipped at {clip:.3g})",
        seconds=time.perf_counter() - began,
    )
