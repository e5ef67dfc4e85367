# Every target needs nothing before it: what is missing is installed into .venv first.
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
# Three processes on two cores: tests that wait for Spark, a disk or a browser leave a core free. See tests/conftest.py for
# what stays together and what comes first.
APART := --numprocesses 3 --dist loadgroup --no-loadscope-reorder
# Tests start hundreds of processes. Where the environment says that no bytecode is kept, each would compile every module.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup java chromium demo test test-all test-bounds test-lowest try-extras client check bench dist lock clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(STAMP)  ## build .venv from requirements.lock

$(STAMP): requirements.lock pyproject.toml scripts/ensure_python.sh
	@python=$$(sh scripts/ensure_python.sh) && echo "Building $(VENV) with $$python ..." && "$$python" -m venv $(VENV)
	@echo "Installing what requirements.lock pins, some 850 MB to fetch: a minute or a few ..."
	@$(BIN)/python -W ignore -m pip install --disable-pip-version-check --quiet --requirement requirements.lock || { \
		echo "pip could not install it, for the reason above; it needs a network (or a mirror, named by PIP_INDEX_URL), and disk: .venv takes 2 GB." >&2; \
		exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .
	@touch $@

java:
	@sh scripts/ensure_java.sh

chromium:
	@sh scripts/ensure_chromium.sh || true  # without it the tests of the console are skipped

demo: $(STAMP) java  ## auctions through Spark against 100,000 subscriptions, results in demo-results/
	@$(BIN)/tamis demo

test: $(STAMP) java chromium  ## run the tests
	$(BIN)/python -m tests.compiling
	$(BIN)/python -m pytest -m "not slow" $(APART)

test-all: $(STAMP) java chromium  ## run the tests, the slow ones too
	$(BIN)/python -m tests.compiling
	$(BIN)/python -m pytest --hypothesis-profile long $(APART)

test-bounds: $(STAMP)  ## run the kernels' tests with every index checked (kernels of its own, in build/bounds)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/bounds $(BIN)/python -m pytest -m "not slow" \
		tests/matching tests/joins tests/routing tests/lab $(APART)

build/uv/bin/uv:
	@python=$$(sh scripts/ensure_python.sh) && "$$python" -m venv build/uv
	@build/uv/bin/python -m pip install --disable-pip-version-check --quiet uv

test-lowest: build/uv/bin/uv java chromium  ## the fast tests with the lowest versions that pyproject.toml allows
	build/uv/bin/uv venv --quiet --clear --python "$$(sh scripts/ensure_python.sh)" build/lowest
	build/uv/bin/uv pip install --quiet --python build/lowest --resolution lowest-direct \
		--editable '.[service,broker,sigma,spatial,images,reasoning,dev]'
	build/lowest/bin/python -m tests.compiling
	build/lowest/bin/python -m pytest -m "not slow" $(APART)

try-extras: build/uv/bin/uv  ## each extra by itself, in a fresh environment
	@sh scripts/try_extras.sh build/uv/bin/uv "$$(sh scripts/ensure_python.sh)"

client: $(STAMP)  ## write the blocking client anew from the asynchronous one
	$(BIN)/python scripts/generate_client.py

check: $(STAMP)  ## format, lint, types, imports, declared dependencies, the generated client
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports
	$(BIN)/deptry src benchmarks
	$(BIN)/python scripts/generate_client.py --check

bench: $(STAMP) java  ## ratios against rivals and yardsticks
	$(BIN)/python -m benchmarks
	$(BIN)/python docs/figures/growth.py
	$(BIN)/python -m docs.figures.performance_table

dist: $(STAMP) java  ## wheel and sdist in dist/; the wheel is installed in an environment of its own and tried
	@rm -rf dist build/clean
	$(BIN)/python -m hatchling build
	@$(BIN)/python -m venv build/clean
	build/clean/bin/python -m pip install --disable-pip-version-check --quiet "$$(ls dist/*.whl)[spark]"
	build/clean/bin/tamis demo --seconds 5 --output build/clean/demo-results

lock: $(STAMP)  ## pin what pyproject.toml asks for into requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade --quiet \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --output-file requirements.lock

clean:  ## remove .venv, caches and results
	rm -rf $(VENV) demo-results build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache spark-warehouse
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
