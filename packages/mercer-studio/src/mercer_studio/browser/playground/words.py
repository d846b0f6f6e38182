"""Sentences of the playground: counts, the certificate, and what one sees."""

from __future__ import annotations

from mercer._words import plural
from mercer.solvers import Solution
from mercer_studio.browser.playground.settings import Settings

__all__ = ["certificate", "class_counts", "curve_counts", "explanation"]

# Shares of the sample that count as few and as most.
FEW, MOST = 0.15, 0.6
# Widths of the kernel that count as narrow and as wide, in a window six units across.
NARROW, WIDE = 0.2, 2.0


def class_counts(n: int, support: int, wrong: int) -> str:
    """Return how many points are support vectors, and how many are misclassified.

    Examples
    --------
    >>> class_counts(100, 18, 3)
    '18 of 100 points are support vectors; 3 are misclassified (3.0 %).'
    """
    missed = "none is" if not wrong else f"{wrong} is" if wrong == 1 else f"{wrong} are"
    share = f" ({100 * wrong / n:.1f} %)" if wrong else ""
    return f"{_support(n, support)}; {missed} misclassified{share}."


def curve_counts(n: int, support: int, error: float) -> str:
    """Return how many points are support vectors, and the training error.

    Examples
    --------
    >>> curve_counts(60, 60, 0.25)
    'All 60 points are support vectors; the training error is 0.25 (root mean square).'
    """
    return f"{_support(n, support)}; the training error is {error:.2g} (root mean square)."


def _support(n: int, support: int) -> str:
    if support == n:
        return f"All {plural(n, 'point')} are support vectors"
    verb = "is a support vector" if support == 1 else "are support vectors"
    return f"{support} of {plural(n, 'point')} {verb}"


def certificate(solution: Solution) -> str:
    """Return how far the fit is from the exact optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR, SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> certificate(SVR(gamma=1.0).fit(X, np.sin(X[:, 0])).solution_)
    'Certified: the objective is within 0.027 % of the exact optimum.'
    >>> certificate(LSSVR(gamma=1.0).fit(X, np.sin(X[:, 0])).solution_)
    'Certified: the objective is the exact optimum up to rounding.'
    """
    if not solution.converged:
        return f"Not converged ({solution.status.value}): {solution.summary()[0]}."
    if solution.relative_gap < 1e-12:
        return "Certified: the objective is the exact optimum up to rounding."
    percent = max(100.0 * solution.relative_gap, 0.0001)
    return f"Certified: the objective is within {percent:.2g} % of the exact optimum."


def explanation(settings: Settings, n_classes: int, support: float, error: float) -> str:
    """Return what one sees at these settings, and what a slider would change.

    Parameters
    ----------
    settings : Settings
    n_classes : int
        Classes among the points, 0 for a curve.
    support : float
        Share of support vectors.
    error : float
        Share of misclassified points; of a curve, the root mean square error beside the standard
        deviation of y.

    Examples
    --------
    >>> from mercer_studio.browser.playground import Settings
    >>> print(explanation(Settings(C=0.01), 2, support=0.9, error=0.2))
    Points on the dashed margin, inside it or on the wrong side are support vectors (ringed); the
    others could be removed without changing the boundary. C is small, so the penalty on the norm
    dominates: a smooth boundary with a wide margin that many points are inside of. Raise C and the
    margin narrows.
    """
    parts = [_about_loss(settings, n_classes), _about_C(settings, support, error)]
    return " ".join(part for part in [*parts, _about_kernel(settings, error)] if part)


def _about_loss(settings: Settings, n_classes: int) -> str:
    rest = " Each of the three classes has a machine against the rest." if n_classes == 3 else ""
    match settings.task, settings.loss:
        case "classes", "hinge" | "squared_hinge":
            return (
                "Points on the dashed margin, inside it or on the wrong side are support vectors "
                "(ringed); the others could be removed without changing the boundary." + rest
            )
        case "classes", "logistic":
            return (
                "The logistic loss is never zero, so every point is a support vector; far points "
                "weigh little. The decision value is the logarithm of the odds, and the dashed "
                "lines are at odds of e = 2.7 to 1." + rest
            )
        case "classes", _:
            return (
                "Least squares asks for decision values of exactly 1 and -1, so points far on the "
                "right side cost as well: every point is a support vector." + rest
            )
        case _, "epsilon_insensitive":
            return (
                f"Errors up to epsilon = {settings.epsilon:g} cost nothing: points inside the tube "
                "have no influence, those on its edge or outside are support vectors (ringed). "
                "Widen the tube and fewer remain."
            )
        case _, "squared":
            return (
                "Squared errors give the conditional mean; a single outlier pulls the curve "
                "towards it, and every point is a support vector."
            )
        case _, "absolute":
            return (
                "Absolute errors give the conditional median: how far an outlier is away does not "
                "matter, only on which side of the curve it is."
            )
        case _:
            return (
                f"Huber's loss is squared up to delta = {settings.delta:g} (dashed) and linear "
                "beyond, so that outliers pull with a bounded force."
            )


def _about_C(settings: Settings, support: float, error: float) -> str:
    shape = "boundary" if settings.task == "classes" else "curve"
    margin = " with a wide margin that many points are inside of" if shape == "boundary" else ""
    then = "the margin narrows" if shape == "boundary" else "the curve follows the points"
    if settings.C <= 0.1 and (support > MOST or error > FEW):
        return (
            f"C is small, so the penalty on the norm dominates: a smooth {shape}{margin}. "
            f"Raise C and {then}."
        )
    if settings.C >= 30.0:
        return (
            f"C is large: errors on the points are costly, and the {shape} bends to avoid them. "
            "Lower C for a smoother one."
        )
    return f"C balances a smooth {shape} against errors on the points."


def _about_kernel(settings: Settings, error: float) -> str:
    shape = "boundary" if settings.task == "classes" else "curve"
    if settings.kernel == "linear":
        return f"With the linear kernel the {shape} is a straight line, whatever C is."
    if settings.kernel == "poly":
        form = "curve" if settings.task == "classes" else "polynomial"
        return f"With the polynomial kernel the {shape} is a {form} of degree {settings.degree}."
    if settings.width < NARROW:
        alone = "islands around single points" if shape == "boundary" else "a bump at every point"
        return (
            f"The kernel's width, {settings.width:.2g}, is smaller than most distances: {alone} "
            "fit this sample and would not predict new points well."
        )
    if settings.width > WIDE:
        return (
            f"The kernel's width, {settings.width:.2g}, spans the picture: the {shape} is nearly "
            "that of a polynomial of low degree."
        )
    rough = {"laplacian": " Its kernel has a kink, and so has the function.", "matern": ""}
    return rough.get(settings.kernel, "")
