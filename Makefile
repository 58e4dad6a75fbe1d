# Every target sets itself up: all that is needed is Python ≥ 3.11, make and a package index.
PYTHON ?= python3
comma := ,
BIN := .venv/bin
EXTRAS ?= test,human
STAMP := .venv/.installed-$(subst $(comma),-,$(EXTRAS))

.PHONY: reproduce test test-all lint format clean

reproduce: $(STAMP)  ## the paper's optima, then its main figure's runs into results/
	$(BIN)/monmdp optima
	$(BIN)/monmdp reproduce --preset quick --out results

test: $(STAMP) lint  ## the test suite, on all cores
	$(BIN)/pytest -n auto -m "not slow"

test-all: $(STAMP) lint  ## the test suite with its slow part
	$(BIN)/pytest -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
