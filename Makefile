# Everything a person does here. A fresh machine needs python3 (3.11 or newer), pip and PyPI.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517
SEEDS  ?= 3000
SCHEDULES ?= 2000
CASES  ?= 1000
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test long check format bench big sim experiments readers fuzz fuzz-sql mutants record flood soak chaos crowd hostile cluster namespaces clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make the virtual environment, install pinned packages, find or install a Java

demo: $(READY) ## Run a federation of 12 sites for about a minute, with failures, and check it
	$(BIN)/headwater demo

test: $(READY) ## Run all tests, by two workers with a Spark each (WORKERS=1: by one)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --ignore=tests/processes/test_chaos.py \
		--ignore=tests/processes/test_namespaces.py --ignore=tests/cluster/test_bad_days.py \
		--ignore=tests/cluster/test_conformance.py --ignore=tests/cluster/test_refusals.py

long: $(READY) ## What tests try of a part only, of all: queries by one Spark, awkward files
	HEADWATER_LONG=1 $(BIN)/python -m pytest tests/conformance/test_queries.py tests/awkward

check: $(READY) ## Lint, check types and layers
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code
	$(BIN)/ruff format

bench: $(READY) ## Measure, beside plain Spark in the same run (ONLY=scale: one of them)
	$(BIN)/python -m benchmarks $(ONLY)

big: $(READY) ## A million groups in a window over three real agents, checked (three minutes)
	$(BIN)/python -m benchmarks.many_groups

sim: $(READY) ## Thousands of seeded fault schedules in virtual time: machines, then the shell
	$(BIN)/python -m headwater.sim --seeds $(SEEDS) --jobs $$(nproc)
	$(BIN)/python -m schedules --seeds $(SCHEDULES) --jobs $$(nproc)

experiments: $(READY) $(VENV)/.experiments ## Make the figures of docs/evidence anew (about an hour and a half)
	$(BIN)/python -m experiments

readers: $(READY) $(VENV)/.readers ## Read answers with DuckDB, pandas and polars, as the guide does
	$(BIN)/python -m pytest tests/store/results/test_results_elsewhere.py

fuzz: $(READY) ## Throw mutated bytes at every decoder
	$(BIN)/python -m fuzz

fuzz-sql: $(READY) ## Random queries over random records: the split equals one Spark (CASES=100000)
	$(BIN)/python -m fuzz_sql --cases $(CASES)

mutants: $(READY) ## Plant small mistakes, one at a time: each must make a test fail
	$(BIN)/python -m mutants --jobs $$(nproc)

record: $(READY) ## Record a federation of this version for later ones to open (two minutes)
	$(BIN)/python tests/recorded/record.py

flood: $(READY) ## Flood an open port with strangers while members work (three minutes)
	$(BIN)/python -m benchmarks.flood

soak: $(READY) ## Thousands of installs, batches, failures and removals on one JVM (some 20 minutes)
	$(BIN)/python -m soak

chaos: $(READY) ## Kill, cut, stop, fill and mislead real agents (four minutes; root for some)
	$(BIN)/python -m pytest tests/processes/test_chaos.py
	$(BIN)/python -m chaos

hostile: $(READY) ## A stolen site's key, an operator's and no key at all against real agents (five minutes)
	$(BIN)/python -m hostile

crowd: $(READY) ## 200 real agents, a root that stands still and one with a slow disk (five minutes)
	$(BIN)/python -m crowd

cluster: $(READY) ## A real master with two workers: all queries, and its bad days (ten minutes)
	$(BIN)/python -m pytest tests/cluster

namespaces: $(READY) ## Lose inner nodes of eight agents on slow links (two minutes, needs root)
	$(BIN)/python -m pytest -s tests/processes/test_namespaces.py

clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) .java .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
		.hypothesis build dist src/*.egg-info run

# Each step leaves a stamp in the environment, so that what is done is not done again.

$(READY): $(VENV)/.packages pyproject.toml scripts/setup_java.sh
	@$(PIP) --no-deps --editable .
	@PYTHON=$(BIN)/python scripts/setup_java.sh
	@touch $@

# Spark is by far the largest package, and comes as source, of which pip makes a wheel first: not
# compressed, since nearly all of it is jars (14 s of processor time instead of 29), and while the
# others install. All versions are in the list, so nobody has to look for what depends on what.
$(VENV)/.packages: requirements.lock | $(BIN)/pip
	@echo "installing $$(grep -c == $<) packages, Spark among them (400 MB) …"
	@grep -i '^pyspark==' $< > $(VENV)/spark.lock
	@grep -iv '^pyspark==' $< > $(VENV)/others.lock
	@$(PIP) --no-deps --config-settings=--build-option=--compression=stored \
			--requirement $(VENV)/spark.lock & spark=$$!; \
		$(PIP) --no-deps --requirement $(VENV)/others.lock || { kill $$spark; exit 1; }; \
		wait $$spark
	@$(BIN)/python -m pip check --quiet
	@touch $@

$(VENV)/.experiments: requirements-experiments.lock $(VENV)/.packages
$(VENV)/.readers: requirements-readers.lock $(VENV)/.packages
$(VENV)/.experiments $(VENV)/.readers:
	@$(PIP) --requirement $<
	@touch $@

# Some systems ship Python without ensurepip; there the system's pip fills the environment.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "wanted Python 3.11 or newer, got: $$($(PYTHON) --version); try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "making $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --without-pip --clear $(VENV) \
		&& $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }
