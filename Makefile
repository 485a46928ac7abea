# Two commands matter: `make demo` and `make test`. Each sets up its own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Tests start many processes, each of which would translate the package anew.
unexport PYTHONDONTWRITEBYTECODE
SIDE_BY_SIDE := --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: demo test check test-slow bench paper docs lock clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

# Test files run side by side, one core each; tests that measure memory, kill or race run alone afterwards.
test: check
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m 'not slow and not alone'
	$(BIN)/python -m pytest -m 'alone and not slow' tests

# Lint, format, types and the import contract.
check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-slow: $(STAMP)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m slow

bench: $(STAMP)
	$(BIN)/python -m benchmarks.flagship
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.candidates
	$(BIN)/python -m benchmarks.distributed
	$(BIN)/python -m benchmarks.fitting
	$(BIN)/python -m benchmarks.changes
	$(BIN)/python -m benchmarks.prototypes
	$(BIN)/python -m benchmarks.probabilities
	$(BIN)/python -m benchmarks.novelty
	$(BIN)/python -m benchmarks.suspects
	$(BIN)/python -m benchmarks.itml
	$(BIN)/python -m benchmarks.inn
	$(BIN)/python -m benchmarks.inn_votes
	$(BIN)/python -m benchmarks.slnd
	$(BIN)/python -m benchmarks.slnd_defaults
	$(BIN)/python -m benchmarks.text
	$(BIN)/python -m benchmarks.features
	$(BIN)/python -m benchmarks.features_more
	$(BIN)/python -m benchmarks.cells

# A table or figure of the papers: make paper NAME=inn-table-3 DATA=data. Without a name, a list of them.
paper: $(STAMP)
	$(BIN)/python -m papers $(or $(NAME),--list) $(if $(DATA),--data $(DATA)) $(OPTIONS)

# The site, from clean, with the gallery's scripts run; a warning is an error. Then its pages are opened.
docs: $(STAMP)
	rm -rf site docs/generated
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto -d site/.doctrees docs site
	NEARBOOST_SITE=site $(BIN)/python -m pytest tests/site

# Renew the lock file from pyproject.toml. What PyTorch with CUDA needs besides is left to pip: a CPU wheel has none.
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
		--extra dev --output-file requirements.lock pyproject.toml
	sed -i.all -E '/^(cuda|nvidia|triton)/d' requirements.lock && rm requirements.lock.all
	rm -rf $(VENV)-lock

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "nearboost needs Python 3.11 or newer"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(STAMP)

clean:
	rm -rf $(VENV) site docs/generated demo_output .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
