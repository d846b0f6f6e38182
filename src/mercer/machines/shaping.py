"""Machines whose function has a known shape: the path from data to solver, with knowledge in it."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._deadline import time_left
from mercer._fitting import say
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.sampling import FingerprintSample as Pool
from mercer.gram.dense import Dense
from mercer.gram.low_rank import LowRank
from mercer.gram.make import make as make_gram
from mercer.kernels.base import Kernel
from mercer.kernels.named import NAMES
from mercer.kernels.taylor import separate
from mercer.losses.base import QuadraticDualLoss
from mercer.machines.base import KernelMachine
from mercer.machines.callbacks import TaskContext
from mercer.machines.kernel_kinds import compares_objects, is_precomputed
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Posing, Prepared, Rows, Sample, SolvedSubproblem, Subproblem
from mercer.problems.constrained import ConstrainedRisk, SampleLosses
from mercer.problems.proof import Curve, bounds_on_lines
from mercer.problems.risk import RegularizedRisk, value_roots
from mercer.reduced.nystrom import Nystrom
from mercer.regularizers.constraints import Constraint, Domain, compile_rows
from mercer.regularizers.constraints import Rows as Inequalities
from mercer.regularizers.knowledge import Periodic, as_constraints
from mercer.regularizers.shape import Shape
from mercer.solvers import SMO, InteriorPoint, Solver
from mercer.solvers.auto import too_late
from mercer.solvers.constraint_generation import ConstrainedSolution, satisfy
from mercer.solvers.rounding import with_expansion

__all__ = ["Knowledge", "ShapeCertificate", "ShapedMachine"]

# Steps along a line: of one feature, and of each of several.
LINE_STEPS, LINE_STEPS_OF_SEVERAL = 200, 24
# Samples and rows up to which a path of factorizations is faster than pairs of coefficients.
MAX_FACTORED_ROWS = 6000
# How many times as many other lines are looked at once the known ones hold, and how often.
NEW_LINES_FACTOR, MAX_LOOKS = 2, 8
# Points of the sample that are kept to look at the shape again.
MAX_KEPT_POINTS = 500
# How often walls are moved by what could not be proved.
MAX_WALL_MOVES = 12


@dataclass(frozen=True)
class Knowledge:
    """The price and the proof of a constraint in a fit.

    Parameters
    ----------
    constraint : Constraint
        The piece, bound to positions of features.
    price : float
        Sum of the multipliers: by how much the objective would fall per unit (of the function) that
        the knowledge were loosened by. Zero if the sample alone agrees with it.
    n_active : int
        Rows in which it is active.
    points : ndarray of shape (m, p)
        The points of those rows.
    violation : float
        Largest violation at the places looked at, in the unit of the function: a slope counts per
        range of its feature.
    proved : float
        Largest violation, in the same unit, that is not excluded by proof on the lines looked at;
        nan where nothing can be proved. See ``words``.
    margin : float
        How much closer the walls were set so that the proof holds.
    words : str
        What is proved, and what is not.
    """

    constraint: Constraint
    price: float
    n_active: int
    points: Array
    violation: float
    proved: float = np.nan
    margin: float = 0.0
    words: str = "holds at the points it is asked for"


@dataclass(frozen=True)
class ShapeCertificate:
    """How well a fitted function keeps its shape.

    Parameters
    ----------
    violation : float
        Largest violation at the places looked at, in the unit of the function.
    proved : float
        Largest violation that is not excluded by proof, over the shapes where one is possible;
        nan if there are none. 0 if the proof leaves none.
    spacing : float
        Distance of neighbouring places on a line, as a part of the range of the feature.
    everywhere : bool
        Whether every shape is proved on its whole region, without any violation: not only on the
        lines looked at, and not up to a violation that is left. ``proved`` is 0 then.
    rounds : int
        How often knowledge was added to the problem, or moved.
    knowledge : tuple of Knowledge
        The same for every piece of knowledge, with its price.
    """

    violation: float = 0.0
    proved: float = np.nan
    spacing: float = np.nan
    everywhere: bool = False
    rounds: int = 0
    knowledge: tuple[Knowledge, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether all shapes are proved, without exception, at least on the lines looked at."""
        return self.proved == 0.0 and not self._open

    @property
    def words(self) -> str:
        """The proofs of all constraints in words, a line each."""
        return "\n".join(f"{piece.constraint!r}: {piece.words}" for piece in self.knowledge)

    @property
    def _open(self) -> bool:
        """Whether there is a shape of which nothing is proved between the places looked at."""
        return any(np.isnan(p.proved) for p in self.knowledge if _is_shape(p.constraint))


class Known(NamedTuple):
    """The problem of a sample under constraints on its function."""

    problem: ConstrainedRisk
    known: list[Constraint]
    domain: Domain
    phi: Any
    """The map of a low-rank approximation; None without."""
    weight: float
    """The first weight of violations of what is known."""

    @property
    def plain(self) -> RegularizedRisk | None:
        """The problem of the sample alone, if nothing is known of the function."""
        if self.known:
            return None
        said = self.problem.said
        return RegularizedRisk(said.loss, self.problem.K, said.y, said.c, said.B, said.d)


@settings
class ShapedMachine(KernelMachine):
    """A machine with knowledge of its function: declare what the sample says."""

    _: KW_ONLY
    grid: int | None = None
    lines: int = 64
    prove: bool = False
    approximation: Nystrom | None = None
    random_state: int = 0
    warm_start: bool = fixed(False)

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions(set(NAMES) - {"precomputed"}), Kernel],
        "constraints": [Constraint, dict, list, tuple, "array-like", None],
        "grid": [Interval(Integral, 2, None, closed="left"), None],
        "lines": [Interval(Integral, 2, None, closed="left")],
        "prove": ["boolean"],
        "approximation": [Nystrom, None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @abstractmethod
    def _data_term(self, sample: Sample) -> SampleLosses:
        """Return what the sample says."""

    @abstractmethod
    def _keep(self, X: Array, index: NDArray[np.intp], coef: Array, b: Array) -> None:
        """Make the machine of the coefficients of its points and of its unpenalized functions."""

    def _knowledge(self, rows: Rows) -> Any:
        """Return what is known, as :func:`as_constraints` takes it."""
        return self.constraints

    def _check_X(self, X: PointsLike, y: TargetsLike = "no_validation", reset: bool = True) -> Any:
        if compares_objects(self.kernel) or is_precomputed(self.kernel):
            raise ValueError(
                "Shape constraints need features; use a kernel of numbers, not a "
                "precomputed one or one of objects."
            )
        return validate_data(self, X, y, reset=reset, dtype=np.float64, order="C")

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the machine to a sample under the constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; names of the columns of a data frame may be used in `constraints`.
        y : array-like of shape (n_samples,)
            Targets, or class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses.

        Returns
        -------
        self
            The fitted machine. If the fit fails or is interrupted it stays what it was before.

        Raises
        ------
        mercer.solvers.constraint_generation.Conflict
            If pieces of knowledge contradict each other; a ``ValueError`` that names them.
        """
        super().fit(X, y, sample_weight)
        return self

    # An approximation here is a map of all rows, which are in memory.
    _in_blocks: ClassVar[bool] = False

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        X, c = sample.X, self._weight() * sample.weights
        names = getattr(self, "feature_names_in_", None)
        known = as_constraints(self._knowledge(sample), names, X.shape[1])
        grid = self.grid or (LINE_STEPS if X.shape[1] == 1 else LINE_STEPS_OF_SEVERAL)
        domain = Domain(X, grid, self.lines, self.random_state)
        phi = self._few_functions(X, sample.weights)
        features = None if phi is None else (lambda Z: np.asarray(phi.features(phi.raw(Z))))
        K = sample.K if features is None else LowRank(features(X))
        if features is None and K.held and not K.resident and len(X) <= MAX_FACTORED_ROWS:
            K = Dense(K.dense())  # factorized in any case, and multiplied with in every round
        problem = ConstrainedRisk(
            self._data_term(sample),
            K,
            X,
            self.kernel_,
            self.null_space_,
            compile_rows(known, domain),
            features,
        )
        # Multipliers are of the size of the slopes of the losses, those of a squared one of y.
        weight = 100.0 * float(np.max(c)) * max(1.0, float(np.std(self._targets(sample.y))))
        return [Subproblem("", Known(problem, known, domain, phi, weight))]

    def _solve(self, prepared: Prepared[Posing], context: TaskContext) -> list[SolvedSubproblem]:
        ((_, subproblems, _),) = prepared.subproblems
        found, certificate = self._satisfied(subproblems)
        self.shape_certificate_ = certificate
        domain = replace(subproblems.domain, X=_some(subproblems.domain.X, self.random_state))
        self._domain, self._known = domain, subproblems.known
        problem = subproblems.problem
        points, coef = self._points_of(problem, subproblems.phi, found)
        roots = value_roots(make_gram(self.kernel_, points, "tiled"))
        sample = problem.at_losses(value_roots(problem.K))
        risk = problem.risk(found.weight)
        solution = with_expansion(found.solution, risk, coef, roots, sample)
        return [SolvedSubproblem(solution, coef, solution.b, {"points": points})]

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        (one,) = solved
        self.n_iter_ = max(1, int(one.solution.n_iter))
        index = np.flatnonzero(one.a)
        self._keep(one.facts["points"], index, one.a[index], one.b)
        self._n_support = np.array([len(index)], dtype=np.int32)

    def _few_functions(self, X: Array, s: Array) -> Any:
        """Return the map of the functions that the machine is looked for among; None for all."""
        if self.approximation is None:
            return None
        how: Nystrom = self.approximation
        if how.number == "auto":
            raise ValueError("A machine with a shape needs a number of centres: Nystrom(500).")
        keys = np.arange(len(X), dtype=np.uint64)
        order = np.random.default_rng(how.random_state).permutation(len(X))
        pool = Pool(len(X), keys, X[order], None, s[order], order.astype(np.int64), len(X))
        return how.settle(self.kernel_, pool, self._weight())

    def _shape_solver(self, problem: ConstrainedRisk) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        if self.solver != "auto":
            return self._make_solver()
        n, loss = len(problem.said.y), problem.said.loss
        dense = n <= MAX_FACTORED_ROWS and not (isinstance(loss, QuadraticDualLoss) and too_late(n))
        if isinstance(problem.K, LowRank) or dense:
            solver: Solver = InteriorPoint(tol=0.1 * self.tol, max_time=self.max_time)
        else:
            room = self.cache_size * 2**20
            solver = SMO(tol=0.1 * self.tol, max_time=self.max_time, cache_bytes=room)
        return solver if self.max_iter < 0 else solver.set_params(max_iter=self.max_iter)

    def _satisfied(self, subproblems: Known) -> tuple[ConstrainedSolution, ShapeCertificate]:
        """Solve the problem, and move its walls until proofs hold if that is asked for."""
        problem, known, domain = subproblems.problem, subproblems.known, subproblems.domain

        def name(rows: NDArray[np.intp]) -> str:
            return " and ".join(repr(known[k]) for k in np.unique(problem.rows.owner[rows]))

        shapes = [_is_shape(constraint) for constraint in known]

        def others(look: int) -> Inequalities:
            # Other lines; of the only line there is, finer steps.
            where = replace(domain, seed=domain.seed + look, lines=NEW_LINES_FACTOR * domain.lines)
            if domain.p == 1:
                where = replace(domain, grid=domain.grid * 2**look)
            rows = compile_rows(known, where)
            return rows.take(np.flatnonzero(np.array(shapes)[rows.owner]))

        def report(number: int, taken: int, excess: float) -> None:
            left = f", violation {excess:.2e} elsewhere" if excess > 0 else ""
            say(self, f"round {number}: {taken} rows of knowledge{left}")

        def satisfied(start: ConstrainedSolution | None) -> ConstrainedSolution:
            return satisfy(
                problem,
                self._shape_solver(problem),
                subproblems.weight,
                tol=self.tol,
                name=name,
                warning=EarlyStop,
                start=start,
                more=others if (domain.p > 1 or self.prove) and any(shapes) else None,
                looks=MAX_LOOKS if domain.p > 1 else max(0, int(np.log2(LINE_STEPS / domain.grid))),
                report=report,
            )

        found, rounds, margin, first = None, 0, np.zeros(len(known)), np.inf
        for left in reversed(range(MAX_WALL_MOVES if self.prove else 1)):
            found = satisfied(found)
            rounds += found.rounds
            proofs = self._proofs(problem, found, known, domain)
            short = np.array([0.0 if np.isnan(p) else p for p, _, _ in proofs])
            if short.max(initial=0.0) > 2.0 * first:
                # Walls that are moved make it worse: the steps are too far apart for the kernel.
                margin = problem.margin = np.zeros(len(known))
                found = satisfied(None)
                proofs = self._proofs(problem, found, known, domain)
                break
            if not left or not short.any() or not time_left():
                break
            first = min(first, float(short.max()))
            # A little more than what is missing, so that a few moves are enough.
            margin = margin + 1.5 * short + 1e-3 * self.tol * (short > 0)
            problem.margin = margin
        assert found is not None
        pieces = tuple(
            self._account(problem, found, k, constraint, proofs[k], margin[k])
            for k, constraint in enumerate(known)
        )
        proved = [p for p, _, _ in proofs if not np.isnan(p)]
        if self.prove and any(p > 0 for p in proved):
            warnings.warn(
                f"prove=True does not succeed: a violation of {max(proved):.2g} is not excluded "
                "(shape_certificate_.words says of which shape). Raise grid, or widen the kernel.",
                EarlyStop,
                stacklevel=4,
            )
        # Of a shape without a proof (nan) or with a violation left, nothing is proved everywhere.
        everywhere = [
            p == 0.0 and whole for (p, _, whole), shape in zip(proofs, shapes, strict=True) if shape
        ]
        certificate = ShapeCertificate(
            violation=found.violation,
            proved=max(proved, default=np.nan),
            spacing=1.0 / domain.grid,
            everywhere=bool(everywhere) and all(everywhere),
            rounds=rounds,
            knowledge=pieces,
        )
        return found, certificate

    def _account(
        self,
        problem: ConstrainedRisk,
        found: ConstrainedSolution,
        k: int,
        constraint: Constraint,
        proof: tuple[float, str, bool],
        margin: float,
    ) -> Knowledge:
        own = problem.rows.owner == k
        excess = problem.rows.violation(found.values)[own]
        active = np.flatnonzero(own & (found.multipliers != 0))
        proved, words, _ = proof
        return Knowledge(
            constraint,
            float(np.sum(np.abs(found.multipliers[active]))),
            len(active),
            problem.rows.take(active).Z,
            float(np.max(excess, initial=0.0)),
            proved,
            float(margin) if not np.isnan(proved) else 0.0,
            words,
        )

    def _proofs(
        self,
        problem: ConstrainedRisk,
        found: ConstrainedSolution,
        known: list[Constraint],
        domain: Domain,
    ) -> list[tuple[float, str, bool]]:
        """Return, for every piece of knowledge, what is proved of it, in numbers and words."""
        a, b = found.solution.a, found.solution.b
        alpha, beta = problem.expansion(a)
        q = problem.columns(problem.X[:1]).shape[1]
        curve = None
        if problem.features is None:
            P = np.concatenate([problem.X, problem.taken.Z])
            coef = np.concatenate([alpha, beta])
            support = np.flatnonzero(coef)
            square = float(a @ problem.risk(found.weight).K.matvec(a))
            curve = Curve(
                self.kernel_,
                P[support],
                coef[support],
                float(np.sqrt(max(square, 0.0))),
                self.null_space_,
                b[:q],
            )
        return [self._proof(curve, constraint, domain) for constraint in known]

    def _proof(
        self, curve: Curve | None, constraint: Constraint, domain: Domain
    ) -> tuple[float, str, bool]:
        if not isinstance(constraint, Shape):
            return np.nan, "holds at the points it is asked for", False
        order, walls = constraint.order, constraint.walls
        why = "the machine is approximated" if curve is None else curve.obstacle(order)
        if domain.p > 1 and not self.prove:
            why = "prove=True was not asked for"
        if curve is None or why:
            return np.nan, f"holds where it was looked at; nothing proved between: {why}", False
        worst, whole, n_lines = 0.0, True, 0
        features = constraint.features(domain.p) if order else list(range(domain.p))
        for j in features:
            bases, low, high = constraint.lines(domain, j)
            n_lines += len(bases)
            scale = (high - low) ** order
            slack = 0.1 * self.tol / scale
            least, most = bounds_on_lines(curve, bases, j, order, low, high, walls, slack)
            worst = max(worst, scale * (walls[0] - least), scale * (most - walls[1]))
            whole &= domain.p == 1 or (order > 0 and separate(self.kernel_, j, domain.p))
        where = "everywhere" if whole else f"on {n_lines} lines, between their steps too"
        words = f"proved {where}"
        if worst > 0:
            words = f"not proved; violations above {worst:.2g} are excluded {where}"
        elif not whole:
            words += "; nothing is proved between the lines"
        return float(worst), words, whole

    @staticmethod
    def _points_of(
        problem: ConstrainedRisk, phi: Any, found: ConstrainedSolution
    ) -> tuple[Array, Array]:
        """Return the points of the expansion and their coefficients."""
        alpha, beta = problem.expansion(found.solution.a)
        if phi is None:
            return np.concatenate([problem.X, problem.taken.Z]), np.concatenate([alpha, beta])
        assert isinstance(problem.K, LowRank)
        eta = found.solution.a[len(problem.said.y) :]
        w = problem.K.G.T @ alpha
        if len(eta):
            w = w + problem.taken.G.T.dot(eta) @ problem.features(problem.taken.Z)  # type: ignore[misc]
        return np.asarray(phi.Z), np.asarray(phi.lift(w[:, None]))[:, 0]

    def verify(self, *, lines: int = 500, grid: int = 100, random_state: int = 1) -> Array:
        """Look for violations of the constraints at places that the fit did not use.

        Parameters
        ----------
        lines, grid : int
            How many lines through the box of the sample, and steps along each.
        random_state : int
            Of the choice of lines.

        Returns
        -------
        ndarray of shape (n_constraints,)
            Largest violation of each piece of knowledge, in the unit of the function.
        """
        check_is_fitted(self)
        domain = replace(self._domain, grid=grid, lines=lines, seed=random_state)
        worst = np.zeros(len(self._known))
        for k, constraint in enumerate(self._known):
            rows: Inequalities = constraint.rows(domain)
            values = sp.csr_array(rows.G) @ self._values(rows.Z)
            worst[k] = np.max(rows.violation(values), initial=0.0)
        return worst

    @abstractmethod
    def _values(self, Z: Array) -> Array:
        """Evaluate the function whose shape is known."""


def _is_shape(constraint: Constraint) -> bool:
    """Answer whether a piece of knowledge is of a whole region, and not of the points it names."""
    return isinstance(constraint, Shape | Periodic)


def _some(X: Array, seed: int) -> Array:
    """Return some points of a sample, with its ranges."""
    ends = np.concatenate([X.argmin(axis=0), X.argmax(axis=0)])
    chosen = np.random.default_rng(seed).permutation(len(X))[:MAX_KEPT_POINTS]
    return np.asarray(X[np.unique(np.append(chosen, ends))])
