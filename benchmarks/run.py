"""Run suites of benchmarks by name, as ``make bench SUITE=exact`` does, or list them.

A suite is a list of programs with their arguments. Those with ``-short`` take a minute or two and
fail if a claim does not hold. Peers that cannot be installed beside this library run with the
interpreters that the variables PEERS and AUTOGLUON name, if they are set.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


class Suite(NamedTuple):
    """What is measured, its programs or the suites that it consists of, and if on one thread."""

    words: str
    programs: tuple[str, ...]
    one_thread: bool = False


SUITES = {
    "studio-check": Suite(
        "the studio in Chromium: entry, six journeys, answers during fits, 100,000 rows",
        ("studio/check.py full",),
    ),
    "studio-check-short": Suite(
        "entry, weight, one journey, answers and cancelling during a fit; a minute",
        ("studio/check.py short",),
    ),
    "hour": Suite(
        "the first hour of a new user, from the wheels; twenty minutes",
        (
            "users/first_hour.py run --output benchmarks/users/hour.json",
            "users/complaints.py --output benchmarks/users/complaints.json",
        ),
        True,
    ),
    "hour-short": Suite(
        "README after its own installation: the wheel in a fresh environment, a minute",
        ("users/first_hour.py short",),
        True,
    ),
    "all": Suite(
        "all benchmarks, about two hours",
        (
            "suite exact",
            "suite path",
            "suite growth",
            "suite hard",
        ),
    ),
    "exact": Suite(
        "fit and predict against every peer and the bare limit, resumable", ("svm/bench.py exact",)
    ),
    "exact-short": Suite(
        "three minutes: fast enough, and do objectives agree", ("svm/bench.py short",)
    ),
    "certificate": Suite(
        "a thousand default fits judged in float64, and what the certificate costs; half an hour",
        ("svm/certificate.py full",),
        True,
    ),
    "certificate-short": Suite(
        "half a minute: do bounds hold, and what do they cost", ("svm/certificate.py short",), True
    ),
    "claims": Suite(
        "bounds that may be quoted on ten real sets, resumable; an hour",
        ("claims/bounds.py full",),
        True,
    ),
    "claims-short": Suite(
        "some seconds: do bounds hold, and do they say something", ("claims/bounds.py short",), True
    ),
    "max-time": Suite(
        "how far fits overrun their max_time or budget of a second; some minutes",
        ("solvers/max_time.py",),
        True,
    ),
    "promptness": Suite(
        "imports, the first fit, help, busy neighbours and Ctrl-C in seconds; some minutes",
        ("users/promptness.py",),
        True,
    ),
    "small": Suite(
        "fits of 50 to 3,000 rows and one-row predictions, three minutes, and the page",
        ("svm/small.py full",),
        True,
    ),
    "small-short": Suite(
        "half a minute: are small fits as fast as scikit-learn's", ("svm/small.py short",), True
    ),
    "kernels": Suite(
        "five machines, four kernels beside scikit-learn, resumable, ten minutes, and the page",
        ("svm/kernels.py full",),
        True,
    ),
    "linear": Suite(
        "linear kernels beside LIBSVM and LIBLINEAR, two minutes, and the page",
        ("svm/linear.py full",),
        True,
    ),
    "linear-short": Suite(
        "fifteen seconds: are linear kernels fast, do objectives agree",
        ("svm/linear.py short",),
        True,
    ),
    "path": Suite("ten values of C, warm started, against one cold fit", ("svm/bench.py path",)),
    "growth": Suite("time and memory against rows, 12,500 to 400,000", ("svm/bench.py growth",)),
    "hard": Suite("badly posed problems against LIBSVM", ("svm/bench.py hard",)),
    "compact": Suite(
        "a compact kernel by its neighbours, 3,125 to 200,000 points", ("solvers/compact.py full",)
    ),
    "columns": Suite(
        "machines with a free plane against the interior point, a minute",
        ("solvers/columns.py",),
        True,
    ),
    "laplacian": Suite(
        "Laplacian tiles beside Gaussian tiles, cdist and the bare loop; half a minute",
        ("solvers/laplacian.py",),
        True,
    ),
    "exact-large": Suite(
        "exact least squares at 10,000 to 41,157 rows by conjugate gradients, five minutes",
        ("solvers/exact_large.py",),
        True,
    ),
    "exact-large-short": Suite(
        "twenty seconds: do bounds agree, and is the default fast",
        ("solvers/exact_large.py short",),
        True,
    ),
    "compact-short": Suite(
        "a minute: does memory follow the neighbours, do objectives agree",
        ("solvers/compact.py short",),
    ),
    "ls": Suite(
        "least squares beside LAPACK, and 100,000 rows without a matrix, resumable",
        ("solvers/least_squares.py full",),
    ),
    "ls-short": Suite(
        "a minute: do answers agree, do fits cost little more than factors",
        ("solvers/least_squares.py short",),
    ),
    "local": Suite(
        "local machines from files and on Dask workers, resumable, half an hour",
        ("large/local.py full",),
    ),
    "local-short": Suite(
        "half a minute: is time linear, is memory flat, is prediction fast",
        ("large/local.py short",),
    ),
    "tune": Suite(
        "one call against grids on 35 real tables, resumable, about an hour",
        (
            "tuning/tuning.py run sklearn",
            "tuning/tuning.py run mercer",
            "tuning/tuning.py run timing --splits 0",
            "peers tuning/tuning.py run peers",
            "tuning/tuning.py gather",
        ),
    ),
    "tune-short": Suite(
        "a minute: is one call as good as a grid, and faster", ("tuning/tuning.py short",)
    ),
    "tables": Suite(
        "table estimators beside boosted trees on 54 tables, resumable, 18 hours",
        (
            "tables/contest.py run mercer",
            "peers tables/contest.py run peers",
            "autogluon tables/contest.py run autogluon",
            "tables/contest.py gather",
        ),
    ),
    "tables-short": Suite(
        "half a minute: are the recommended estimators good on few rows, and in time",
        ("tables/contest.py short",),
    ),
    "tables-intervals": Suite(
        "intervals of the recommended regressor beside quantiles of boosted trees, ten minutes",
        (
            "tables/intervals.py run mercer",
            "peers tables/intervals.py run peers",
            "tables/intervals.py report",
        ),
    ),
    "large": Suite(
        "error against time on six large tables, beside boosted trees; resumable, two hours",
        (
            "large/large.py run mercer",
            "peers large/large.py run peers",
            "large/large.py gather",
        ),
    ),
    "large-short": Suite(
        "half a minute: are tuned local machines and the pilot good", ("large/large.py short",)
    ),
    "starts": Suite(
        "tuning beside ten random starts on 20 real tables, ten minutes",
        ("tuning/starts.py",),
        True,
    ),
    "scale": Suite(
        "all of few centres: speed, growth, quality, cluster; hours",
        (
            "suite scale-speed",
            "suite quality",
            "suite cluster",
        ),
    ),
    "scale-speed": Suite(
        "passes beside the bare loop, fits beside scikit-learn, resumable, half an hour",
        (
            "reduced/speed.py speed",
            "reduced/speed.py slope",
        ),
    ),
    "kinked": Suite(
        "losses with kinks over landmarks beside LIBLINEAR, resumable, half an hour",
        (
            "reduced/kinked.py run",
            "reduced/kinked.py growth",
        ),
        True,
    ),
    "scale-short": Suite(
        "a minute: are passes and fits fast, gaps closed, is memory flat",
        ("reduced/speed.py short",),
    ),
    "quality": Suite(
        "few centres, exact machines and peers on six large sets, resumable, hours",
        (
            "reduced/quality.py run mercer sklearn --fresh",
            "peers reduced/quality.py run peers",
            "reduced/quality.py gather",
        ),
    ),
    "quality-short": Suite(
        "half a minute: are few centres as good as scikit-learn's", ("reduced/quality.py short",)
    ),
    "manifold-scale": Suite(
        "a principal manifold of a million rows, from files and on a cluster; minutes",
        ("manifold/scale.py full",),
        True,
    ),
    "manifold-kpca": Suite(
        "kernel PCA: digits denoised, 100,000 rows, a million in files; half an hour",
        ("manifold/kernel_pca.py full",),
    ),
    "manifold-kpca-short": Suite(
        "half a minute: does denoising pay, do bounds hold, do sources agree",
        ("manifold/kernel_pca.py short",),
    ),
    "manifold": Suite(
        "manifolds beside peers on sensors, video, profiles and novelty, resumable, ten minutes",
        ("manifold/studies.py full",),
        True,
    ),
    "manifold-short": Suite(
        "some seconds: do manifolds keep what the studies promise, on few rows",
        ("manifold/studies.py short",),
        True,
    ),
    "plan": Suite(
        "costs of clusters from what was measured, a thousand workers simulated, a minute",
        ("plan/plan.py report",),
        True,
    ),
    "plan-measure": Suite(
        "passes, fits and the engine on one core, for the plan; some minutes",
        ("plan/plan.py measure",),
        True,
    ),
    "cluster": Suite(
        "what a Dask cluster of two workers costs beside bare futures and threads, ten minutes",
        ("cluster/cluster.py full",),
        True,
    ),
    "cluster-short": Suite(
        "a minute: do sums and fits on a cluster agree with those of threads",
        ("cluster/cluster.py short",),
        True,
    ),
    "faults": Suite(
        "10^7 rows on a cluster, workers and client killed, and the page; half an hour",
        ("cluster/faults.py full",),
        True,
    ),
    "onnx": Suite(
        "a minute: exported graphs beside the SVMRegressor operator and our own predict",
        ("serving/onnx_speed.py full",),
        True,
    ),
    "production": Suite(
        "two Dask workers fit 417,700 rows, another process serves them by HTTP; a minute",
        ("serving/production.py full",),
        True,
    ),
    "production-short": Suite(
        "the same with 4,177 rows: is what is served what was fitted",
        ("serving/production.py short",),
        True,
    ),
    "container-check": Suite(
        "the steps of the service's Dockerfile in a fresh environment, offline",
        ("serving/container.py",),
        True,
    ),
    "container-image": Suite(
        "the image by Buildah and Podman from the root file system build/base, offline",
        ("-m benchmarks.serving.image --base build/base",),
        True,
    ),
    "report": Suite("the page of the last benchmarks, without measuring", ("svm/bench.py report",)),
    "grid": Suite("the coarse grid behind the settings of the problems", ("svm/bench.py grid",)),
    "knowledge": Suite(
        "seconds against rows of machines that know something, and the page",
        ("solvers/knowledge.py full",),
        True,
    ),
}


def run(name: str) -> int:
    """Run a suite, and return the status of the first program that fails."""
    suite = SUITES[name]
    settings = os.environ | (ONE_THREAD if suite.one_thread else {})
    for program in suite.programs:
        first, *arguments = program.split()
        if first == "suite":
            status = run(arguments[0])
        else:
            interpreter = sys.executable
            if first in ("peers", "autogluon"):
                interpreter = os.environ.get(first.upper()) or interpreter
                first, *arguments = arguments
            print(f"== {first} {' '.join(arguments)}", flush=True)
            where = [first] if first == "-m" else [str(HERE / first)]
            command = [interpreter, *where, *arguments]
            status = subprocess.run(command, cwd=HERE.parent, env=settings).returncode
        if status:
            return status
    return 0


def main(names: list[str]) -> int:
    """Run suites by name, or list them."""
    if unknown := [name for name in names if name not in SUITES]:
        print(f"no suite {', '.join(unknown)}; there are {', '.join(sorted(SUITES))}")
        return 2
    for name, suite in ({} if names else SUITES).items():
        print(f"  {name:22} {suite.words}")
    return next((status for status in map(run, names) if status), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
