# Fifteen commands; continuous integration runs the same ones (.ci/run). Suites, parts and steps are arguments.
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev,docs,plot,cluster,data,io,onnx,bench
# Packages beside the library, with their extras.
BESIDE ?= packages/mercer-studio[studio] packages/mercer-research
JOBS ?= 2
# Releases to install instead of the newest, as '"scikit-learn==1.6.*"'.
PIN ?=
# Interpreters of peers that cannot be installed beside this library (benchmarks/contenders says which packages).
export PEERS AUTOGLUON
READY := $(VENV)/.mercer-installed
BIN := $(VENV)/bin

# Nothing here reports its use: onnxruntime does from 1.29 on, unless it is told not to.
export ORT_DISABLE_TELEMETRY := 1

# The tests run in several processes: each one keeps to a single thread of BLAS and of compiled code.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install check test test-all night data docs bench reproduce law mutants matrix wheels release

help:     ## list the targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

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
ROOM_FOLDERS = tests/$(or $(TESTS_$(ROOM)),$(ROOM)) src/mercer/$(ROOM) packages/mercer-$(ROOM)/tests packages/mercer-$(ROOM)/src
ROOM_TESTS = $(if $(ROOM),$(wildcard $(ROOM_FOLDERS)))
# Tiers are told in tests/tiers.py: quick tests, those of more than a fifth of a second a case, those of the night.
# Distributions whose tests run: library, studio, research.
PACKAGES ?= library studio
PATHS_library := tests src/mercer
PATHS_studio := packages/mercer-studio/tests packages/mercer-studio/src
PATHS_research := packages/mercer-research/tests packages/mercer-research/src
PYTEST = $(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(if $(COVERAGE),--cov --cov-report=term)
test: $(READY)  ## quick tests and doctests, warnings as errors; ROOM=losses runs all of one room, PACKAGES=research a distribution
	$(PYTEST) $(if $(ROOM),$(ROOM_TESTS),-m "not slow and not nightly" $(foreach name,$(PACKAGES),$(PATHS_$(name))))

test-all: $(READY)  ## all tests of all distributions but those of the night
	$(PYTEST) -m "not nightly"

# Tasks of tools/tasks.py; the last has each Python, with the lowest and the newest releases.
STEPS ?= tests sanitize instructions fuzz law hostile-files reproduce twice benchmarks matrix
night: $(READY)  ## tests of the night, fuzz, hostile files, short benchmarks, old releases: hours; STEPS="fuzz law" some of it
	$(BIN)/python tools/tasks.py $(STEPS)

FOLDER ?=
data: $(READY)  ## real data that benchmarks and studies need, to FOLDER or among the user's caches
	$(BIN)/python -m mercer.datasets $(if $(FOLDER),--folder $(FOLDER))

# PART=check opens the built site in Chromium, PART=versions puts it beside others.
PART ?=
docs: $(READY)  ## the site in docs/_build/html, examples executed, warnings as errors; PART=check, versions
	$(BIN)/python tools/tasks.py $(or $(PART),site)

SUITE ?=
bench: $(READY)  ## suites of benchmarks, SUITE=small or "small linear"; without SUITE they are listed
	$(BIN)/python benchmarks/run.py $(SUITE)

# ONLY="--short", "--studies" or a name.
ONLY ?=
reproduce: $(READY)  ## the experiments of the documents run again, resumable, half an hour; ONLY=--short two minutes
	$(ONE_THREAD) $(BIN)/python packages/mercer-research/papers/run.py $(ONLY)

LAW_FIRST ?= 0
LAW_FITS ?= 5000
LAW_STREAM ?= every
law: $(READY)  ## 5,000 fits whose predictions cost what their certificates allow, and what was drawn
	cd tests && $(ONE_THREAD) ../$(BIN)/python -m hostile.predictions $(LAW_FIRST) $(LAW_FITS) $(LAW_STREAM)

MUTANTS ?= --mutants 40
mutants: $(READY)  ## one operator or constant of ROOM=losses changed at a time: do its tests notice; MUTANTS="--mutants 100 --seed 1"
	cd tests && $(ONE_THREAD) nice ../$(BIN)/python -m mutation.run $(ROOM) $(MUTANTS)

build/release/.installed: pyproject.toml
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet ".[release]"
	touch $@

# MATRIX="--pythons 3.13 --releases lowest -- tests/losses" is a part of it, MATRIX="--sklearn 1.6" an older scikit-learn.
MATRIX ?=
matrix: build/release/.installed  ## Python 3.11 to 3.15, each with the lowest and the newest dependencies: README, quick tests; resumable, three hours
	build/release/bin/python tools/matrix.py --jobs $(JOBS) $(MATRIX)

wheels: build/release/.installed  ## wheels of all distributions in dist/wheels, tried in bare environments; a build without a compiler; four minutes
	build/release/bin/python tools/distributions.py

# TAG=v0.1.0 also fails where something is left to decide; STEP=build builds twice.
STEP ?= check
release: build/release/.installed  ## version, changelog, citation, links, wheel, sdist, README on the index, SBOM, licences; a minute
	build/release/bin/pip install --quiet --no-deps --force-reinstall .
	build/release/bin/python tools/release.py $(STEP) $(if $(TAG),--tag $(TAG))
