# Two commands: `make run` and `make test`. Each makes its own environment first and needs no other step.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
# uv where it is there, pip otherwise; both check every hash of the lock file.
INSTALL = $(if $(shell command -v uv),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

.PHONY: run test check bench torture test-agents docs lock clean

run: $(RUN_READY)
	@$(BIN)/fairlead up

test: check
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not agents and not torture"

check: $(DEV_READY)
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright --level error
	@$(BIN)/lint-imports --no-cache --verbose >.venv/layers.txt || { cat .venv/layers.txt; exit 1; }

bench: $(DEV_READY)
	@$(BIN)/python -m benchmarks

torture: $(DEV_READY)
	@$(BIN)/python -m pytest -m torture

# The real agent CLIs, pinned, from npm, against a model server on loopback.
test-agents: $(DEV_READY)
	@$(BIN)/python tests/agents/install.py
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m agents

# The parts of the documents that are made from the code; tests fail while they are stale.
docs: $(DEV_READY)
	@$(BIN)/python docs/generate.py
	@$(BIN)/python tests/traceability.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Fairlead needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 " + "run")'
	@echo "Making the environment in $(VENV) (once) ..."
	@$(if $(shell command -v uv),uv venv --quiet --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(RUN_READY): requirements/run.lock pyproject.toml | $(VENV)/bin/python
	@$(INSTALL) --require-hashes -r requirements/run.lock
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(DEV_READY): requirements/dev.lock $(RUN_READY)
	@$(INSTALL) --require-hashes -r requirements/dev.lock
	@touch $@

# Only for people who change a dependency; needs uv.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --group build -o requirements/run.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c requirements/run.lock --group dev -o requirements/dev.lock

clean:
	rm -rf $(VENV) build dist .coverage* .ruff_cache
