# `make demo` shows the project, `make check` is the loop, `make test` is what CI runs. They need Python 3.11 or newer
# and git, but no root.
PYTHON ?= python3
VENV := .venv
# Tests wait for crawls, browsers and servers longer than they compute.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(3 * (os.cpu_count() or 1))')
BIN := $(VENV)/bin
# A worker that crashes ends the run: pytest-xdist gives the files of a lost worker to nobody, and would wait for ever.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# The lock files name every package, so pip resolves nothing.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
LOCK := $(BIN)/uv pip compile pyproject.toml --group build --universal --generate-hashes --no-annotate --no-emit-index-url --quiet \
	--custom-compile-command 'make lock'
# The development data, and the models of the cross-validation, which are kept for the next time.
DATA ?= $(or $(BLOCKSIEVE_DATA),../shared/data)
FOLDS ?= build/folds

.PHONY: help demo check test test-research bytecode lint types contracts docs pictures services services-stop bench figures format lock audit clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.demo ## crawl the bundled site into blocks.db and show the result; SERVE=1 shows it as a web page then
	@$(BIN)/python -m crawler.demo.run $(if $(SERVE),--serve)

check: lint types contracts $(VENV)/.dev ## the loop: style, types, contracts, and the tests that start no process
	$(PYTEST) --quick --numprocesses auto --quiet $(PYTEST_ARGS)

test: $(VENV)/.full ## what protects users: style, types, contracts and the tests of the project
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=recurse bytecode lint contracts types
	$(PYTEST) --numprocesses $(WORKERS) $(PYTEST_ARGS)

test-research: $(VENV)/.full ## each command of research/ once, and the floors under the quality of cleaning, which need the development data
	$(PYTEST) --numprocesses $(WORKERS) research/tests $(PYTEST_ARGS)

# Each worker, and many processes that tests start, would compile all modules again.
test test-research: export PYTHONDONTWRITEBYTECODE =

# Collecting compiles the tests. Their run says what fails in it.
bytecode: $(VENV)/.dev
	-@$(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

docs: $(VENV)/.full ## the pages in docs/ as a site with a search, in build/site; SERVE=1 shows it while you edit
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(if $(SERVE),serve,build)

pictures: $(VENV)/.full ## take the pictures in docs/pictures anew, from a run of the demo
	$(BIN)/python research/pictures.py demo docs/pictures
	$(BIN)/python research/pictures.py story docs/pictures
	$(BIN)/python research/pictures.py teach docs/pictures

services: $(VENV)/.dev ## a PostgreSQL server for the tests: eval "$(make --silent services)"
	@$(BIN)/python tests/support/cluster.py start

services-stop: $(VENV)/.dev
	@$(BIN)/python tests/support/cluster.py stop

bench: $(VENV)/.full ## pages/s and CPU of each stage and of whole crawls of real pages, start-up, cost of cleaning beside other extractors, making and looking up fingerprints, searches, the web page, archives beside datatrove and Ray Data
	$(BIN)/python research/bench/crawl.py
	$(BIN)/python research/bench/frontier.py
	$(BIN)/python research/bench/clean.py
	$(BIN)/python research/bench/startup.py
	$(BIN)/python research/bench/linearity.py
	$(BIN)/python research/bench/linearity.py --hostile --sizes 100000 1000000
	$(BIN)/python research/bench/memory.py --pages 2000
	$(BIN)/python research/bench/block_keys.py
	$(BIN)/python research/bench/fingerprints.py --sizes 100000
	$(BIN)/python research/bench/search.py --blocks 100000
	$(BIN)/python research/bench/web.py --blocks 100000
	BLOCKSIEVE_DATA=$(DATA) $(BIN)/python research/bench/batch.py --records 1000
	BLOCKSIEVE_DATA=$(DATA) $(BIN)/python research/bench/chain.py

figures: $(VENV)/.full ## measure again all figures in docs/ that depend on the model, the methods or the development data; an hour
	$(BIN)/python -m research.training $(DATA) --folds $(FOLDS) --card docs/model-card.md
	BLOCKSIEVE_DATA=$(DATA) $(BIN)/python research/quality.py --write docs/methods.md --render-pages 150 --peers --cross-validate $(FOLDS)
	BLOCKSIEVE_DATA=$(DATA) $(BIN)/python research/experiments.py all --pages 300 --write docs/methods.md
	BLOCKSIEVE_DATA=$(DATA) $(BIN)/python research/provenance.py

format: $(VENV)/.dev ## let ruff rewrite the files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(VENV)/.full ## resolve the dependencies anew: requirements/run.txt for the demo and the image, dev.txt for `make check`, full.txt for all else
	$(LOCK) --upgrade --extra full --output-file requirements/full.txt
	$(LOCK) --upgrade --extra dev --constraint requirements/full.txt --output-file requirements/dev.txt
	$(LOCK) --upgrade --extra metrics --extra postgres --extra web --constraint requirements/full.txt --output-file requirements/run.txt

audit: $(VENV)/.full ## known vulnerabilities of the packages in requirements/
	@$(BIN)/python tests/support/audit.py requirements/full.txt

clean: ## remove what was built; the databases stay
	rm -rf $(VENV) build dist cleaning/_native/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; $$($(PYTHON) --version) was found. Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

CORE := hatch_build.py $(wildcard cleaning/_native/*.pyx cleaning/_native/*.pxd)

$(VENV)/.demo: pyproject.toml requirements/run.txt $(CORE) | $(VENV)/bin/python
	@echo "Installing Blocksieve (once; about a minute)"
	@$(PIP) --require-hashes --requirement requirements/run.txt
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt $(CORE) | $(VENV)/bin/python
	@echo "Installing Blocksieve and its development tools (once; about a minute)"
	@$(PIP) --require-hashes --requirement requirements/dev.txt
	@$(PIP) --no-build-isolation --editable .
	@touch $@ $(VENV)/.demo

$(VENV)/.full: requirements/full.txt | $(VENV)/.dev
	@echo "Installing what Blocksieve's extras and its research need (once; some minutes)"
	@$(PIP) --no-compile --require-hashes --requirement requirements/full.txt
	@touch $@
