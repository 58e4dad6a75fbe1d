# Every target sets itself up: all that is needed is Python ≥ 3.11, make and a package index.
PYTHON ?= python3
comma := ,
BIN := .venv/bin
EXTRAS ?= test,human,deep
STAMP := .venv/.installed-$(subst $(comma),-,$(EXTRAS))
DOCS_STAMP := .venv/.installed-docs

.PHONY: reproduce test test-all docs docs-links browser lint format dist clean

reproduce: $(STAMP)  ## the paper's optima, its main figure's runs into results/, and from them figures, page, verdict on the claims
	$(BIN)/monmdp optima
	$(BIN)/monmdp reproduce --preset quick --out results
	$(BIN)/monmdp figure all results
	$(BIN)/monmdp report results
	$(BIN)/monmdp claims results

test: $(STAMP) lint browser  ## the test suite, on all cores
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

test-all: $(STAMP) $(DOCS_STAMP) lint browser  ## the test suite with its slow part
	$(BIN)/pytest -n auto --timeout 3600

SPHINX = $(BIN)/python -m sphinx -n -W --keep-going docs

docs: $(DOCS_STAMP)  ## the site, in build/docs; any warning, such as a link that leads nowhere, is an error
	$(SPHINX) build/docs
	@echo "Open build/docs/index.html."

docs-links: $(DOCS_STAMP)  ## whether links to the world outside still work; needs the internet
	$(SPHINX) build/links -b linkcheck

browser:  ## the page is tested in a real browser; Debian's is installed where there is none
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || ( \
		as_root=$$( [ "$$(id -u)" = 0 ] || echo sudo ); \
		$$as_root apt-get update -qq && $$as_root apt-get install -y -qq chromium >/dev/null ) || \
		echo "Install Chromium, so that the page can be tested." >&2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/.installed-%: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(subst -,$(comma),$*)]"
	touch $@

dist: .venv/.installed-build  ## sdist and wheel into dist/
	rm -rf dist
	$(BIN)/python -m build

.venv/.installed-build:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
