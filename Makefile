# One command a job; continuous integration runs the same ones (.ci/run).
PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev,docs,plot,cluster,bench
JOBS ?= 2
BIN := $(VENV)/bin
READY := $(VENV)/.mercer-installed

# The tests run in several processes: each one keeps to a single thread of BLAS and of compiled code.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install check test docs bench bench-short

help:     ## list the targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 21

$(READY):
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@

install:  ## make the virtual environment, or bring it up to date
	@rm -f $(READY)
	@$(MAKE) --no-print-directory $(READY)

check: $(READY)  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(READY)  ## tests and doctests, warnings as errors, coverage floor
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

docs: $(READY)  ## the site in docs/_build/html, examples executed, warnings as errors
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(READY)  ## fit and predict times against scikit-learn
	$(BIN)/python benchmarks/bench.py

bench-short: $(READY)  ## three small problems: does it run, do objectives agree
	$(BIN)/python benchmarks/bench.py --short
