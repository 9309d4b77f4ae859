# Two commands do everything on a fresh machine with Python 3.11+, git and make:
#   make demo   set up, then cluster a made-up table privately and show the result
#   make test   set up, then run the checks and the tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# More for pytest: make test PYTEST="--durations=15 tests/sources"
PYTEST ?=
# On all cores; what shares a cluster (Dask, Spark) stays on one of them.
CORES := -n auto --dist loadgroup

.PHONY: demo test test-fast coverage test-matrix matrix spark lint docs docs-serve release-check install-check bench faults mutants clean

demo: $(VENV)/.plot
	$(BIN)/shoal demo

test: lint $(VENV)/.test
	$(BIN)/python -m pytest $(CORES) $(PYTEST)

# What is done in a minute and a half; the slow rest is marked by what it was measured to take.
test-fast: $(VENV)/.test
	$(BIN)/python -m pytest $(CORES) -m "not slow" $(PYTEST)

# Which lines of Python no test runs (compiled kernels are not seen). A target of its own: tracing slows the tests.
coverage: $(VENV)/.test
	$(BIN)/python -m pytest $(CORES) --cov=shoal --cov-report=term:skip-covered $(PYTEST)

# Old and new libraries, on every Python that is found; an environment each. MATRIX="--python 3.12 --set oldest" for some.
MATRIX ?=
matrix: test-matrix
test-matrix:
	$(PYTHON) .ci/matrix.py $(MATRIX)

# For the tests that run on Spark; they want a Java runtime.
spark: $(VENV)/.spark

lint: $(VENV)/.lint $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini
	$(BIN)/lint-imports

# The site, in site/; nothing in it is fetched from elsewhere. Links that lead nowhere are errors (not with --quiet).
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

docs-serve: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

# The release recipe (docs/project/release.md) up to the step before uploading.
release-check: $(VENV)/.release
	rm -rf dist build/release && mkdir -p build/release
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/release/venv
	build/release/venv/bin/python -m pip install -q --disable-pip-version-check "$$(ls dist/*.whl)[plot]"
	cd build/release && venv/bin/shoal --version && venv/bin/shoal demo

# The wheel, without extras and with each, on every Python that is found.
install-check: $(VENV)/.release
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(PYTHON) .ci/install.py dist/*.whl

# Kill, fill, cut off and race a ledger on purpose; prints how often it held (docs/explanation/ledger.md).
faults: $(VENV)/.test
	cd tests && $(abspath $(BIN))/python -m faults.run

mutants: $(VENV)/.test
	$(BIN)/python tests/mutants/run.py

bench: $(VENV)/.test $(VENV)/.bench
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/lloyd.py
	$(BIN)/python benchmarks/first_call.py
	$(BIN)/python benchmarks/files.py
	$(BIN)/python benchmarks/kmeans.py
	$(BIN)/python benchmarks/families.py
	$(BIN)/python benchmarks/coreset.py

# One stamp per set of extras, so that `make demo` does not install the test tools.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
$(VENV)/.plot: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[plot]' && touch $@
$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[plot,test,docs]' && touch $@
$(VENV)/.bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]' && touch $@
$(VENV)/.spark: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[spark]' && touch $@
$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]' && touch $@
$(VENV)/.release: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[release]' && touch $@
$(VENV)/.lint: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[lint]' && touch $@

clean:
	rm -rf $(VENV) .venv-matrix build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
