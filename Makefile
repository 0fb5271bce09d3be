# Two commands: `make run` and `make test`. Each makes its own environment first and needs no other step.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
MACHINES_READY := $(VENV)/.machines-ready
CONSOLE_READY := $(VENV)/.console-ready
UV := $(shell command -v uv)

# An environment that does not work is in the way of a new one: half made, made without pip, or its Python is gone.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell $(BIN)/python -c 'import pip' 2>/dev/null && echo works),works)
$(shell rm -rf $(VENV))
endif
endif

# uv where it is there, pip otherwise; both check every hash of the lock file. pip takes a minute: its packages are
# listed as they come, and its exit status goes through a file, because a pipe has only the last one.
ifneq ($(UV),)
MAKE_ENVIRONMENT = uv venv --quiet --seed --python $(PYTHON) $(VENV)
INSTALL = uv pip install --quiet --python $(BIN)/python $(1) && echo " done"
else
MAKE_ENVIRONMENT = $(PYTHON) -m venv $(VENV)
INSTALL = { $(BIN)/python -m pip install --disable-pip-version-check $(1); echo $$? >$(VENV)/.status; } | awk '$(SHOW_PACKAGES)' && test "$$(cat $(VENV)/.status)" = 0
endif
SHOW_PACKAGES = /^Collecting/ { sub(/==.*/, "", $$2); printf " %s", $$2; fflush() } \
	/^Installing collected/ { printf "\n  installing them ..."; fflush() } END { print "" }

.PHONY: help run test test-long check bench torture torture-machines test-agents test-console test-machines docs lock clean

help:
	@echo "make run          start Fairlead and talk to an agent at once"
	@echo "make test         format, lint, types, layers and tests"
	@echo "make test-long    the tests that take longer: stories of whole daemons, Discord's, the simulator's"
	@echo "make check        the same without the tests"
	@echo "make docs         write the parts of the documents that are made from the code"
	@echo "make bench        measure"
	@echo "make torture      kill a real daemon again and again, for a long time"
	@echo "make torture-machines  kill daemon, runners and NATS server, 300 times"
	@echo "make test-agents  run the real agent programs against a model server on loopback (needs npm)"
	@echo "make test-console the console in a real browser (needs Chromium; on Debian it is installed)"
	@echo "make test-machines  several machines with a real NATS server"
	@echo "make lock         write the lock files again after a dependency changed (needs uv)"
	@echo "make clean        remove the environment and everything that was built"
	@echo "Another Python:   make PYTHON=python3.12 run"

run: $(RUN_READY)
	@$(BIN)/fairlead up --example

# PYTEST_ARGS goes to the outermost pytest alone; tests that run pytest themselves do not get it.
test: check
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -n 3 --dist worksteal -m "not long and not agents and not torture and not browser and not machines"

test-long: $(DEV_READY)
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -n 3 --dist loadfile -m "long and not torture and not browser and not machines"

check: $(DEV_READY)
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright --level error
	@$(BIN)/lint-imports --no-cache --verbose >.venv/layers.txt || { cat .venv/layers.txt; exit 1; }
	@$(BIN)/python docs/generate.py --check && $(BIN)/python tests/traceability.py --check || { echo "Documents that are made from the code are stale: make docs"; exit 1; }

bench: $(DEV_READY)
	@$(BIN)/python -m benchmarks

torture: $(DEV_READY)
	@$(BIN)/python -m pytest -m torture

# FAIRLEAD_KILLS says how often, FAIRLEAD_SEED repeats a run as far as chance allows.
torture-machines: $(DEV_READY)
	@FAIRLEAD_KILLS=$${FAIRLEAD_KILLS:-300} $(BIN)/python -m pytest -s -m torture tests/torture/test_machine_kills.py

# The real agent CLIs, pinned, from npm, against a model server on loopback.
test-agents: $(DEV_READY)
	@$(BIN)/python tests/agents/install.py
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -n 2 --dist worksteal -m agents

# Several machines: real daemons, runners and NATS servers from PyPI, on loopback and between network namespaces.
test-machines: $(DEV_READY)
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -n 2 --dist loadfile -m "machines and not torture"

# The console in a real Chromium. FAIRLEAD_CHROMIUM names another one; FAIRLEAD_SCREENSHOTS a directory for pictures.
test-console: $(CONSOLE_READY)
	@$(BIN)/python tests/browser/find_chromium.py
	@$(BIN)/python -m pytest $(PYTEST_ARGS) -n 0 -m browser

# The parts of the documents that are made from the code; tests fail while they are stale.
docs: $(DEV_READY)
	@$(BIN)/python docs/generate.py
	@$(BIN)/python tests/traceability.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Fairlead needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 run")'
ifeq ($(UV),)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(PYTHON) -c 'import sys; print("%s cannot make an environment: a part of Python is missing.\nOn Debian and Ubuntu: sudo apt install python%d.%d-venv\nThen run make again. Installing uv instead works too." % (sys.executable, *sys.version_info[:2]))'; exit 1; }
	@echo "Making the environment in $(VENV). This happens once and takes about a minute; with uv installed, some seconds."
else
	@echo "Making the environment in $(VENV) with uv. This happens once."
endif
	@$(MAKE_ENVIRONMENT) || { rm -rf $(VENV); exit 1; }

$(RUN_READY): requirements/run.lock pyproject.toml | $(BIN)/python
	@printf "Installing what Fairlead needs:"
	@$(call INSTALL,--require-hashes -r requirements/run.lock)
	@( $(call INSTALL,--no-deps --no-build-isolation -e .) ) >$(VENV)/install.log || { cat $(VENV)/install.log; exit 1; }
	@touch $@

$(MACHINES_READY): requirements/machines.lock $(RUN_READY)
	@printf "Installing what more than one machine needs:"
	@$(call INSTALL,--require-hashes -r requirements/machines.lock)
	@touch $@

$(DEV_READY): requirements/dev.lock $(MACHINES_READY)
	@printf "Installing what the tests need:"
	@$(call INSTALL,--require-hashes -r requirements/dev.lock)
	@touch $@

$(CONSOLE_READY): requirements/console.lock $(DEV_READY)
	@printf "Installing what drives the browser:"
	@$(call INSTALL,--require-hashes -r requirements/console.lock)
	@touch $@

# Only for people who change a dependency; needs uv.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --group build -o requirements/run.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c requirements/run.lock pyproject.toml --extra machines -o requirements/machines.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c requirements/run.lock --group dev -o requirements/dev.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c requirements/run.lock -c requirements/dev.lock --group console -o requirements/console.lock

clean:
	rm -rf $(VENV) build dist .coverage* .ruff_cache
