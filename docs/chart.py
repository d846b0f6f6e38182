"""The chart of the page "Which estimator?": from task and data to one name each, as linked SVG.

``python docs/chart.py chart.svg`` writes it; the site includes it in the page, so that its links
work and its colours follow the theme.
"""

import sys
from html import escape
from pathlib import Path

# A heading, and for each answer a name and where its page is.
QUESTIONS: dict[str, dict[str, str]] = {
    "I want to predict a number": {
        "from a table, nothing else known": "AutoRegressor",
        "as scikit-learn's SVR does, faster": "SVR",
        "with least squares: fast, tunes itself": "selection.LSSVRCV",
        "with an interval that holds": "ConformalRegressor",
        "and its quantiles, which must not cross": "QuantileBand",
        "that rises, falls, bends or is bounded": "ShapeConstrainedRegressor",
        "and see the effect of every feature": "AdditiveRegressor",
        "known only to lie above or below a value": "CensoredRegressor",
        "of several outputs together": "estimators.MultiOutputSVR",
    },
    "I want to predict a class": {
        "from a table, with probabilities": "AutoClassifier",
        "as scikit-learn's SVC does, faster": "SVC",
        "with probabilities from one kernel": "KernelLogisticRegression",
        "although some labels are wrong": "estimators.LeaveOneOutSVC",
    },
    "I have places or times": {
        "values on a map": "UniversalKriging",
        "a curve through noisy points": "SmoothingSpline",
        "a series to be continued": "Forecaster",
    },
    "I have no labels": {
        "which rows are unlike the others?": "OneClassSVM",
        "features from any kernel": "manifold.KernelPCA",
        "a curve, sheet or map of the data": "manifold.PrincipalManifold",
    },
    "Something is special about my data": {
        "cells are missing": "MissingInputRegressor",
        "noise is larger in some places": "estimators.HeteroscedasticSVR",
        "outliers": "estimators.RobustLSSVR",
        "many features, few matter": "estimators.SparseAdditiveRegressor",
    },
}
WIDTH, ROW, HEAD, GAP, SPLIT = 760, 30, 38, 18, 440
STYLE = """
.chart text { font: 15px system-ui, sans-serif; fill: currentColor; }
.chart .head { font-weight: 600; font-size: 17px; }
.chart path { stroke: currentColor; stroke-opacity: 0.45; fill: none; stroke-width: 1.4; }
.chart .box { fill: currentColor; fill-opacity: 0.06; stroke: currentColor; stroke-opacity: 0.25; }
.chart a text { fill: var(--pst-color-link, #0072b2); font-family: ui-monospace, monospace; }
.chart a { color: var(--pst-color-link, #0072b2); text-decoration: none; }
.chart a:hover .box { fill-opacity: 0.16; }
"""


def svg(root: str = "") -> str:
    """Return the chart; links begin at the root of the site."""
    parts, y = [], 6
    for question, answers in QUESTIONS.items():
        parts.append(f'<text class="head" x="8" y="{y + 24}">{escape(question)}</text>')
        begin, y = y + HEAD - 6, y + HEAD
        for words, name in answers.items():
            middle = y + ROW / 2
            page = f"{root}reference/generated/mercer.{name}.html"
            parts += [
                f'<path d="M20 {begin} V{middle} H36"/>',
                f'<text x="42" y="{middle + 5}">{escape(words)}</text>',
                f'<path d="M{SPLIT - 60} {middle} H{SPLIT - 10} m-7 -5 l7 5 l-7 5"/>',
                f'<a href="{page}"><rect class="box" x="{SPLIT}" y="{y + 2}" rx="6" '
                f'width="{WIDTH - SPLIT - 8}" height="{ROW - 4}"/>'
                f'<text x="{SPLIT + 12}" y="{middle + 5}">{escape(name.split(".")[-1])}</text></a>',
            ]
            y += ROW
        y += GAP
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {y}" role="img" width="100%" '
        f'style="max-width:{WIDTH}px" aria-label="Which estimator? From task and data to a name." '
        f'xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(svg(), encoding="utf-8")
