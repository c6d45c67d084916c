# Every target sets up what it needs; Python >= 3.11 with pip is the only requirement.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
WORKERS := -n auto --maxprocesses 8 --dist worksteal

# Those that need neither other graphs nor root, WordNet or many hours; see CONTRIBUTING.md.
BENCHMARKS := epoch growth linear fits layouts reading columns estimate commands explorer service \
  cluster_number faults

.PHONY: demo test test-slow test-all check processors site format benchmark results figures docs clean

demo: $(VENV)/.run  ## train on bundled data; results go to demo/
	$(BIN)/graphgate demo --out demo

test: $(VENV)/.dev  ## run the tests, but for the slow ones
	$(PYTEST) $(WORKERS) --durations 10 -m "not slow"

test-slow: $(VENV)/.dev  ## run the slow ones: in browsers, new processes, with kills, at size
	$(PYTEST) $(WORKERS) --durations 10 -m slow

test-all: test test-slow  ## run every test

check: $(VENV)/.dev  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

processors: $(VENV)/.dev  ## run the numerical tests with the kernels of a processor without AVX-512
	$(BIN)/python -m scripts.emulate_processors --only AVX2 $(WORKERS)

site: $(VENV)/.dev  ## build the documentation in build/site and run its tutorials
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -j auto -d build/doctrees docs build/site

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

benchmark: $(VENV)/.dev  ## renew results/benchmarks; needs an otherwise idle machine
	for name in $(BENCHMARKS); do \
	  $(BIN)/python -m benchmarks $$name --renew --json results/benchmarks/$$name.json || exit; \
	done
	$(MAKE) docs

results: $(VENV)/.dev  ## run what is missing in results/runs; takes hours from scratch
	$(BIN)/graphgate reproduce transductive
	$(BIN)/graphgate reproduce inductive
	$(BIN)/graphgate reproduce formulations
	$(BIN)/graphgate reproduce ablation
	$(BIN)/graphgate reproduce edges
	$(BIN)/graphgate reproduce unseen
	$(BIN)/graphgate reproduce clustering
	$(BIN)/graphgate reproduce links
	$(BIN)/graphgate reproduce quality
	$(MAKE) docs

figures: $(VENV)/.dev  ## redraw the figures in docs/ from results/ and a model trained on Cora
	$(BIN)/graphgate figures --dataset cora --out docs/images/figures --formats png

docs: $(VENV)/.dev  ## rewrite the generated tables in README.md and docs/ from results/
	$(BIN)/python -m scripts.render_tables

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "graphgate needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[viz]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.run

clean:
	rm -rf $(VENV) .venv-newest build dist docs/api docs/commands *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo
