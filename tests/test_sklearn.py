"""scikit-learn's own checks of what an estimator is."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
import sklearn.svm
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils._test_common.instance_generator import PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils.estimator_checks import parametrize_with_checks

from exported import unlisted
from installed import SKLEARN
from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    AdditiveClassifier,
    AdditiveRegressor,
    CensoredRegressor,
    ConformalRegressor,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    LinearSVC,
    LinearSVR,
    MissingInputRegressor,
    NuSVC,
    NuSVR,
    Nystrom,
    OneClassSVM,
    QuantileBand,
    QuantileSVR,
    RandomFeatures,
    ShapeConstrainedClassifier,
    ShapeConstrainedRegressor,
)
from mercer.estimators import (
    HeteroscedasticNuSVR,
    HeteroscedasticSVR,
    HuberSVR,
    MissingInputClassifier,
    RobustLSSVR,
    SparseAdditiveClassifier,
    SparseAdditiveRegressor,
    SparseClassifier,
    SparseRegressor,
    SupportVectorTube,
)
from mercer.losses.named import CLASSIFICATION, REGRESSION
from mercer.preprocessing import (
    DateEncoder,
    Encoder,
    Imputer,
    RankNormalizer,
    Scaler,
    TableEncoder,
)
from mercer.selection import LSSVCCV, LSSVRCV, SVCCV, SVRCV
from mercer_research.density import EmpiricalCDF, GaussianDensity, KernelCDF, ParzenWindow
from mercer_research.estimators import (
    AdaptiveMarginSVC,
    HardMarginSVC,
    HardTubeSVR,
    LeaveOneOutSVC,
    NuSparseClassifier,
    NuSparseRegressor,
    PartiallyLinearRegressor,
    RegimeSwitchingRegressor,
    WorstCase,
)
from mercer_research.linear import (
    Bridge,
    FusedRidge,
    KernelPerceptron,
    LassoConstrained,
    LeastSquaresAmongstAlternatives,
    LpMarginSVC,
    MarginBoost,
    NadarayaWatson,
    NormRegression,
    OneNormSVC,
    PlausibleLeastSquares,
    ValidatedLasso,
    ValidatedSelection,
)
from mercer_research.selection import FixedComplexity, ThresholdSelector

# Whoever is not in this file is here: checked beside its own tests, or not at all, with the reason.
TESTS = Path(__file__).parent
RESEARCH = TESTS.parent / "packages" / "mercer-research" / "tests"
ELSEWHERE = {
    "AdditiveRegularization": f"{RESEARCH}/fusion/test_additive.py",
    "AutoClassifier": "tabular/test_automatic.py",
    "AutoRegressor": "tabular/test_automatic.py",
    "CertifiedSVC": f"{RESEARCH}/risk_bounds/test_certified_svc.py",
    "FusedLSSVR": f"{RESEARCH}/fusion/test_fused_least_squares.py",
    "GenerativeTopographicMap": f"{RESEARCH}/manifold/test_generative_topographic_map.py",
    "KPlanes": f"{RESEARCH}/manifold/test_planes.py",
    "KernelPCA": "manifold/test_kernel_pca.py",
    "GeneralizedLeastSquares": f"{RESEARCH}/estimators/test_least_squares.py",
    "PrincipalCurve": "manifold/test_curve.py",
    "PrincipalManifold": "manifold/test_principal_manifold.py",
    "PrincipalManifoldCV": f"{RESEARCH}/manifold/test_principal_manifold_cv.py",
    "PrincipalPlane": f"{RESEARCH}/manifold/test_planes.py",
    "KernelProjectionPursuit": f"{RESEARCH}/manifold/test_projection_pursuit.py",
    "RBFNetwork": f"{RESEARCH}/linear/test_rbf_network.py",
    "RegularizationNetwork": f"{RESEARCH}/estimators/test_network.py",
    "SparseKernelFeatures": f"{RESEARCH}/manifold/test_sparse_features.py",
    "SparseSubstrate": f"{RESEARCH}/fusion/test_sparse_substrate.py",
    "SparseSubstrateClassifier": f"{RESEARCH}/fusion/test_sparse_substrate.py",
    "StableLSSVR": f"{RESEARCH}/fusion/test_stability.py",
    "TermSelector": f"{RESEARCH}/estimators/test_term_selection.py",
    "UniversalKriging": "estimators/test_kriging.py",
    "VectorQuantizer": f"{RESEARCH}/manifold/test_vector_quantizer.py",
    "MultiOutputSVR": f"{RESEARCH}/estimators/test_multi_output_svr.py",
}
EXCEPTIONS = {
    "ChiSquareDensity": "is a distribution of one number; the checks have several features",
    "HistogramDensity": "is a distribution of one number; the checks have several features",
    "SmoothingSpline": "is a function of one feature; the checks have several",
    "ThinPlateSpline": "has no values at points of more features than twice its order",
    "Forecaster": "is fitted to a series, one row of values, and not to samples",
}
# Machines that are neither there nor imported above are checked with their defaults.
OTHERS = unlisted({*globals(), *ELSEWHERE, *EXCEPTIONS})

REPLACEMENTS = [SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM()]
DEFAULT = [
    *REPLACEMENTS,
    *(SVC(kernel="precomputed"), SVR(kernel="precomputed")),
    *(HuberSVR(), QuantileSVR(), KernelLogisticRegression(), KernelRegressor(), KernelClassifier()),
    KernelLogisticRegression(multi_class="multinomial"),
    *(RobustLSSVR(c=1.0), RobustLSSVR(method="bisquare", c=1.0)),
    *(LSSVR(), LSSVC(), LSSVC(codes="one-vs-one", decoding="hamming")),
    *(LSSVRCV(budget=2), LSSVCCV(budget=2)),
    *(SupportVectorTube(), SupportVectorTube(exceptions=5), QuantileBand()),
    *(HeteroscedasticSVR(), HeteroscedasticNuSVR()),
    *(AdditiveRegressor(), AdditiveClassifier()),
    *(SparseAdditiveRegressor(mu=1.0), SparseAdditiveClassifier(mu=1.0, C=1.0)),
    *OTHERS.values(),
]

# A kernel whose width does not depend on the sample, and three digits beyond the seven that the
# checks of weights compare.
GIVEN = {"gamma": "auto", "tol": 1e-10}
OWN = [
    LSSVR(**GIVEN),
    *(CensoredRegressor(**GIVEN), CensoredRegressor(ranking=0.5, cv=3, **GIVEN)),
    *(HuberSVR(**GIVEN), QuantileSVR(**GIVEN), KernelLogisticRegression(**GIVEN)),
    KernelLogisticRegression(**GIVEN, multi_class="multinomial"),
    *(RobustLSSVR(c=1.0, **GIVEN), RobustLSSVR(method="bisquare", c=1.0, **GIVEN)),
    *(KernelRegressor(loss, **GIVEN) for loss in sorted(REGRESSION)),
    *(ShapeConstrainedRegressor(**GIVEN), ShapeConstrainedClassifier(**GIVEN)),
    *(
        EmpiricalCDF(),
        GaussianDensity(),
        ParzenWindow(),
        KernelCDF(gamma=0.5, C=1.0, lines=2, grid=4),
    ),
    # The interior point takes a minute to bring powers below two to ten digits, check by check.
    *(KernelClassifier(loss, **GIVEN) for loss in sorted(CLASSIFICATION) if loss != "power_hinge"),
]

# The default width of a kernel is read off the variance of the sample without its weights, and the
# default tolerance promises three digits where these checks compare seven. Both are as in
# scikit-learn, which expects the same failures of its machines.
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": "gamma='scale' and tol=1e-3",
    "check_sample_weight_equivalence_on_sparse_data": "gamma='scale' and tol=1e-3",
}

# The check weighs one class with 1000 and the others with 0.0001, where no nu is feasible.
# scikit-learn's NuSVC ignores class_weight and is expected to fail as well.
INFEASIBLE = {"check_class_weight_classifiers": "specified nu is infeasible"}

# Probabilities are calibrated on samples left out; to leave out one of two copies is not to leave
# out a sample of weight two.
COPIES = dict.fromkeys(WEIGHTS, "one of two copies left out leaves the other")


def expected(machine):
    failures = {} if machine.kernel == "precomputed" else WEIGHTS
    failures = COPIES if isinstance(machine, LSSVC) else failures
    return failures | (INFEASIBLE if isinstance(machine, NuSVC) else {})


LINEAR = [
    *(NormRegression(loss) for loss in ("absolute", "huber", "squared", "maximum")),
    *(LassoConstrained(), LassoConstrained(1.0), Bridge(), Bridge(1.0), OneNormSVC()),
    *(FusedRidge(cv=3), ValidatedLasso(cv=3), ValidatedSelection("local")),
    *(LeastSquaresAmongstAlternatives(), PlausibleLeastSquares(0.05), NadarayaWatson()),
    *(LpMarginSVC(1.0), KernelPerceptron(), MarginBoost(n_estimators=5)),
]


SPARSE = [
    SparseRegressor(gamma="auto", tol=1e-9),
    SparseClassifier(gamma="auto", tol=1e-9),
    *(PartiallyLinearRegressor(**GIVEN), HardTubeSVR(1.7, gamma="auto", tol=1e-9)),
    *(NuSparseRegressor(), NuSparseClassifier(0.1, centres=100)),
]


def not_unique(machine):
    """Linear programs with a tube or a margin of any width have many optima of one value."""
    if isinstance(machine, HardTubeSVR):
        return {"check_regressors_train": "a tube wide enough for noise explains less than half"}
    if isinstance(machine, NuSparseClassifier):
        # Copies of a row with different labels have no margin, of which it is right to warn.
        copies = {f"check_estimator_sparse_{kind}": "warns" for kind in ("tag", "array", "matrix")}
        return INFEASIBLE | copies | dict.fromkeys(WEIGHTS, "one of several optima")
    return dict.fromkeys(WEIGHTS, "one of several optima") if hasattr(machine, "nu") else {}


@parametrize_with_checks(SPARSE, expected_failed_checks=not_unique)
def test_sparse_machines(estimator, check):
    check(estimator)


def two_classes(machine):
    """Return a check that before 1.7 shuffles labels first and makes them two classes then.

    Which two depends on the first label, so that the two fits that it compares differ in labels.
    """
    tags = get_tags(machine).classifier_tags
    if SKLEARN < (1, 7) and tags is not None and not tags.multi_class:
        return {"check_sample_weight_equivalence_on_dense_data": "labels differ"}
    return {}


@parametrize_with_checks(LINEAR, expected_failed_checks=two_classes)
def test_linear_models(estimator, check):
    check(estimator)


# Of two copies each carries the other, where a sample of weight two has nothing but itself. And
# nothing is penalized, so that weights matter only where slacks cannot vanish together.
CARRIED = dict.fromkeys(WEIGHTS, "a sample twice is no sample of weight two") | {
    "check_class_weight_classifiers": "both classes have their margins whatever they weigh"
}


@parametrize_with_checks(
    [AdaptiveMarginSVC(), LeaveOneOutSVC()],
    expected_failed_checks=lambda machine: CARRIED,
)
def test_adaptive_margins(estimator, check):
    check(estimator)


# Cones are solved to eight digits of the objective, which are four of where it is smallest.
@parametrize_with_checks(
    [LpMarginSVC()],
    expected_failed_checks=lambda model: dict.fromkeys(WEIGHTS, "seven digits of a minimizer"),
)
def test_margins_by_cones(estimator, check):
    check(estimator)


# These checks set small entries to zero, and rows of two classes become the same.
ALIKE = dict.fromkeys(
    (
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
    ),
    "classes with a row in common have no margin",
)


@parametrize_with_checks(
    [HardMarginSVC(kernel="rbf", gamma=1.0)], expected_failed_checks=lambda machine: ALIKE
)
def test_hard_margin(estimator, check):
    check(estimator)


TRANSFORMERS = [
    *(Scaler(), Scaler(centre=False), Scaler(scale="robust")),
    *(Imputer(), Imputer("median", indicator=True), Imputer("most_frequent"), Imputer(0.0)),
    *(Encoder(), Encoder(columns="all"), Encoder("ordinal", columns="all")),
    *(Encoder("target", columns="all"), TableEncoder(), TableEncoder([0])),
    *(DateEncoder(), RankNormalizer(), RankNormalizer(n_quantiles=10)),
]

# To whatever is called Scaler these checks say with_mean=False, a parameter of another class.
CALLED_SCALER = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "sets with_mean"
)


@parametrize_with_checks(
    TRANSFORMERS,
    expected_failed_checks=lambda t: CALLED_SCALER if isinstance(t, Scaler) else {},
)
def test_transformers(estimator, check):
    check(estimator)


# One machine of each way to leave samples out. To leave out one of two copies is not to leave out a
# sample of weight two, and widths are chosen on the sample as it is.
INTERVALS = [
    ConformalRegressor(random_state=0),
    ConformalRegressor(method="split", random_state=0),
    ConformalRegressor(SVR(), method="cv+", cv=3, random_state=0),
]


@parametrize_with_checks(INTERVALS, expected_failed_checks=lambda machine: COPIES)
def test_intervals(estimator, check):
    check(estimator)


# Machines around others. Those that tune themselves leave out one of two copies, as above.
AROUND = [
    *(SVRCV(budget=2), SVCCV(budget=2)),
    *(FixedComplexity(SVR(**GIVEN), max_norm=1.0), ThresholdSelector(SVC(**GIVEN))),
    RegimeSwitchingRegressor(),
]
SMALL = {"check_regressors_train": "a function of norm one explains less than half"}


def around(machine):
    """Return the checks that such a machine is expected to fail."""
    if isinstance(machine, SVRCV | SVCCV):
        return COPIES
    return SMALL if isinstance(machine, FixedComplexity) else {}


@parametrize_with_checks(AROUND, expected_failed_checks=around)
def test_machines_around_machines(estimator, check):
    check(estimator)


# One check gives random rows as a kernel matrix, which is not positive definite.
@pytest.mark.filterwarnings("ignore:The precomputed kernel matrix is not positive definite")
@parametrize_with_checks(DEFAULT, expected_failed_checks=expected)
def test_defaults(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [LinearSVC(), LinearSVR()],
    expected_failed_checks=lambda machine: dict.fromkeys(WEIGHTS, "tol=1e-4, as scikit-learn's"),
)
def test_weights_of_features(estimator, check):
    check(estimator)


@parametrize_with_checks(OWN, expected_failed_checks=two_classes)
def test_every_loss_without_an_expected_failure(estimator, check):
    check(estimator)


# Machines among few functions, enough of them for the samples of these checks.
REDUCED = [
    *(SVC(approximation=Nystrom(60)), SVR(approximation=Nystrom(60))),
    *(LSSVR(approximation=Nystrom(60)), LSSVC(approximation=RandomFeatures(200))),
    KernelLogisticRegression(approximation=Nystrom(60)),
]


@parametrize_with_checks(REDUCED, expected_failed_checks=lambda machine: WEIGHTS)
def test_among_few_functions(estimator, check):
    check(estimator)


# Machines for rows with gaps; what they do with gaps is tested beside them.
GAPS = [
    *(MissingInputRegressor(), MissingInputClassifier()),
    *(MissingInputRegressor(strategy=WorstCase()), MissingInputClassifier(strategy=WorstCase())),
]


@parametrize_with_checks(GAPS, expected_failed_checks=lambda machine: WEIGHTS)
def test_machines_for_gaps(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", WEIGHTS)
@pytest.mark.parametrize(
    "machine",
    [
        *(SVC(**GIVEN), NuSVC(nu=0.1, **GIVEN), SVR(**GIVEN), NuSVR(**GIVEN)),
        # With a centre for every different row.
        LSSVR(**GIVEN, approximation=Nystrom(60)),
        KernelLogisticRegression(**GIVEN, approximation=Nystrom(60)),
        *(LinearSVC(tol=1e-9), LinearSVC(dual=True, tol=1e-9, max_iter=-1), LinearSVR(tol=1e-9)),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_weights_are_repetitions(machine, check):
    """What scikit-learn expects its machines to fail holds for these with a given kernel.

    Not for ``OneClassSVM.predict``, which the checks compare on the boundary of its region, where
    the sign of the decision function is rounding.
    """
    getattr(estimator_checks, check)(type(machine).__name__, machine)


@pytest.mark.parametrize("machine", REPLACEMENTS, ids=lambda machine: type(machine).__name__)
def test_no_more_failures_than_scikit_learn_expects(machine):
    twin = getattr(sklearn.svm, type(machine).__name__)
    assert expected(machine).keys() <= PER_ESTIMATOR_XFAIL_CHECKS[twin].keys()


ROOMS = (
    "mercer",
    *(f"mercer.{room}" for room in ("estimators", "reduced", "local", "selection", "manifold")),
    *(f"mercer.{room}" for room in ("tabular", "preprocessing")),
    *(f"mercer.{room}" for room in ("compression", "inspect", "distributed", "plotting")),
    *(f"mercer_research.{room}" for room in ("fusion", "linear", "density", "manifold")),
    *(f"mercer_research.{room}" for room in ("estimators", "selection", "risk_bounds")),
)


def exported():
    """Return the names of all classes with a method ``fit`` that the library exports."""
    return {
        name
        for room in ROOMS
        for name in import_module(room).__all__
        if inspect.isclass(one := getattr(import_module(room), name))
        and callable(getattr(one, "fit", None))
    }


def checked(path):
    """Return the classes that are made for the checks in a file, as its source says."""
    tree = ast.parse(path.read_text())
    names = [node.func.id for node in ast.walk(tree) if _calls(node)]
    given = [
        node
        for node in ast.walk(tree)
        if _calls(node) and node.func.id in ("parametrize_with_checks", "check_estimator")
    ]
    assert given, f"{path} has none of scikit-learn's checks"
    return set(names)


def _calls(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.parametrize("name", sorted(exported()))
def test_every_estimator_is_checked_or_excused(name):
    here = checked(Path(__file__)) | OTHERS.keys()
    places = [name in here, name in ELSEWHERE, name in EXCEPTIONS]
    assert sum(places) == 1, f"put {name} among the machines of this file, or say why not"
    if name in ELSEWHERE:
        assert name in checked(TESTS / ELSEWHERE[name])


def test_nobody_is_excused_who_is_not_exported():
    assert (ELSEWHERE.keys() | EXCEPTIONS.keys()) <= exported()
    assert all(len(reason.split()) > 5 for reason in EXCEPTIONS.values())
