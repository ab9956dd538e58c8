# demo: 20 verified episodes.  test: the test suite.  check: format, lint, types, layers, tests.  format: mend the format.
# fuzz: thousands of mutated task files and URDFs, about 20 minutes.  docs: the site, in build/site.
.PHONY: demo test check lint format fuzz docs clean

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP_FLAGS := --quiet --disable-pip-version-check

# PyBullet has wheels for Python 3.10 and 3.11: python3 if it is one of them, else whichever of the two is there
PYTHON ?= $(shell for p in python3 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' 2>/dev/null && echo $$p && break; done)

demo: $(STAMP)
	$(BIN)/unlatch collect task=open_microwave episodes=20 seed=0 out=data/demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

check: lint test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

fuzz: $(STAMP)
	UNLATCH_FUZZ=2000 $(BIN)/python -m pytest -n 2 -m slow tests/configs/test_fuzz.py tests/workflows/test_annotate.py

$(STAMP): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "Makefile: no Python 3.10 or 3.11 found (PyBullet has wheels for these). Install one, or run: make PYTHON=/path/to/python3.11" >&2; \
		exit 2; fi
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
