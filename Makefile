# `make demo` and `make test` work on a fresh machine: they make .venv and install what they need.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
WORKERS ?= 2
# Tests run real models. Installed first, so that pip takes a build for CPUs where it finds one (the one of PyPI for Linux
# brings 5 GB for NVIDIA's cards): TORCH='torch --index-url https://download.pytorch.org/whl/cpu'
TORCH ?= torch==2.13.0
PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder

.PHONY: demo quick test test-all lint bench wheel clean

demo: $(RUNTIME)
	$(BIN)/hybridkg demo
	$(BIN)/hybridkg doctor --compile

# First aid, in less than two minutes: laws on small data (plans, kernels against numpy, W3C syntax), README, doctests.
quick: $(DEV)
	$(PYTEST) -m quick

test: $(DEV)
	$(PYTEST)

test-all: $(DEV)
	$(PYTEST) --exhaustive

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(DEV)
	$(BIN)/python -m benchmarks.loading
	$(BIN)/python -m benchmarks.text
	$(BIN)/python -m benchmarks.acl_anthology
	$(BIN)/python -m benchmarks.elastic
	$(BIN)/python -m benchmarks.language
	$(BIN)/python -m benchmarks.query_growth
	$(BIN)/python -m benchmarks.w3c
	$(BIN)/python -m benchmarks.round_trip
	$(BIN)/python -m benchmarks.measures
	$(BIN)/python -m benchmarks.linking
	$(BIN)/python -m benchmarks.tuning
	$(BIN)/python -m benchmarks.models
	$(BIN)/python -m benchmarks.stop_words
	$(BIN)/python -m benchmarks.suggested_profiles
	$(BIN)/python -m benchmarks.prepared
	$(BIN)/python -m benchmarks.join_paths
	$(BIN)/python -m benchmarks.writers
	$(BIN)/python -m benchmarks.projection
	$(BIN)/python -m benchmarks.planner
	$(BIN)/python -m benchmarks.hybrid
	$(BIN)/python -m benchmarks.updates
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.vectors
	$(BIN)/python -m benchmarks.vectors_filtered
	$(BIN)/python -m benchmarks.vectors_quality
	$(BIN)/python -m benchmarks.acl_sentences
	$(BIN)/python -m benchmarks.vectors_pieces
	$(BIN)/python -m benchmarks.table2 build/table2

wheel: $(DEV)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --wheel --sdist

clean:
	rm -rf $(VENV) dist build demo

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	-$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(RUNTIME)
