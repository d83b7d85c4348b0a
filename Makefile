# make demo    set up an environment of its own, then the main job on the bundled sample
# make test    set up, then the tests in parallel
# make lint    ruff, mypy, the import contract
# make bench   our own figures in under a minute; INPUT=DIR for a real input, PEERS=DIR for the peers
# make lock    resolve the locks anew (needs uv)
# make clean   remove the environment

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet install
LOCKS := requirements-build.lock requirements.lock
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	2>/dev/null && echo $$p && break; done)

PYTEST_WORKERS ?= logical
PYTEST_ARGS ?=

.PHONY: demo test lint bench lock clean environment
.DELETE_ON_ERROR:

demo: environment
	@$(BIN)/shardline demo

# A test process a core: threads of the libraries would only get in each other's way.
test: export OMP_NUM_THREADS ?= 1
test: environment
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict lineage pipelines storage_tiers flows shardline tests benchmarks
	$(BIN)/lint-imports --no-logo

bench: environment
	$(BIN)/python benchmarks/prep.py $(if $(INPUT),--input $(INPUT),--quick) $(if $(PEERS),--peers $(PEERS))
	$(BIN)/python benchmarks/scale.py $(if $(INPUT),--input $(INPUT),--quick)
	$(BIN)/python benchmarks/clean.py $(if $(INPUT),--input $(INPUT),--quick) $(if $(PEERS),--peers $(PEERS))

environment: $(VENV)/.project

# The project itself, from this folder, without looking at its dependencies again; then
# Prefect's empty database, so that no workspace has to wait for its migrations.
$(VENV)/.project: $(VENV)/.locked pyproject.toml
	@$(PIP) --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m flows.database
	@touch $@

# setuptools comes first, by hash: it builds the few packages that have no wheel, so that
# pip's build isolation never fetches anything that is not in the lock. Bytecode is made
# afterwards, on all cores; a few packages carry files for newer Pythons, which do not compile.
$(VENV)/.locked: $(LOCKS)
	@test -n "$(PYTHON)" || { \
		echo "Shardline needs Python 3.11, 3.12 or 3.13 with its venv module, and found none."; \
		echo "Install one (Debian: apt-get install python3-venv), or name it: make PYTHON=/path/to/python"; \
		exit 1; }
	@echo "Setting up $(VENV) with $(PYTHON): two to three minutes and 1.1 GB, once."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(PIP) --require-hashes -r requirements-build.lock
	@$(PIP) --require-hashes --no-build-isolation --no-compile -r requirements.lock
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@

UV ?= uv
COMPILE := $(UV) pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header

# One resolution for everything; the other two take their pins from it. Pins stay where
# they are unless UPGRADE=--upgrade (or --upgrade-package NAME) is given.
UPGRADE ?=
lock:
	$(COMPILE) $(UPGRADE) --extra build --extra pdf --extra test --extra dev pyproject.toml -o requirements.lock
	$(COMPILE) $(UPGRADE) -c requirements.lock pyproject.toml -o requirements-feed.lock
	echo setuptools | $(COMPILE) $(UPGRADE) -c requirements.lock - -o requirements-build.lock

clean:
	rm -rf $(VENV) build shardline.egg-info
