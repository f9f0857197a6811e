# Everything a person or a machine does with Ferromix. `make` alone explains itself.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help dev demo test test-rust test-python test-knobs loom lint fmt wheel test-wheel bench docs clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/maturin: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet "maturin>=1.13,<2"
	@touch $@

$(VENV)/checkers: $(BIN)/maturin
	$(BIN)/python -m pip install --quiet --group test --group lint
	@touch $@

dev: $(BIN)/maturin  ## Build the Rust core and install the package for development
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet --extras examples

demo: dev  ## Train LeNet on handwritten digits, save it, score the saved one again
	$(BIN)/python examples/train_digits.py --output build/demo
	$(BIN)/python examples/train_digits.py --load build/demo/digits

test: test-rust test-python  ## All Rust and Python tests

test-rust:  ## Unit, integration and documentation tests of the crates
	cargo test --workspace --exclude ferromix-py --quiet

test-python: dev $(VENV)/checkers  ## Tests of the package, the examples and the layering
	$(BIN)/python -m pytest -q

# The parts that push operations, again under settings that change how they run.
KNOBS := FERROMIX_ENGINE_TYPE=NaiveEngine FERROMIX_CPU_WORKER_NTHREADS=1 \
         FERROMIX_NUM_THREADS=5 MXNET_CPU_MEM_POOL_TYPE=Unpooled
PUSHERS := tests/ndarray tests/symbol tests/executor tests/optimizer tests/kvstore tests/io \
           tests/interop tests/test_errors.py

test-knobs: dev $(VENV)/checkers  ## The tests of arrays and graphs, naive, with one worker, unpooled
	@for knob in $(KNOBS); do \
	    echo "$$knob"; env $$knob $(BIN)/python -m pytest -q $(PUSHERS) || exit 1; \
	done

loom:  ## Model-check the lock-free parts
	RUSTFLAGS="--cfg loom" cargo test --release --quiet --target-dir target/loom -p ferromix-engine -p ferromix-storage --tests loom

lint: dev $(VENV)/checkers  ## Formatting, lints and types of Rust and Python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

fmt: $(VENV)/checkers  ## Format everything
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

wheel: $(BIN)/maturin  ## Build the wheel into dist/
	$(BIN)/maturin build --profile dist --quiet --out dist

test-wheel: wheel  ## Install the wheel without Rust in a clean environment and train with it
	tools/check_wheel.sh dist/ferromix-*.whl

bench:  ## Benchmarks of engine, pool and kernels
	cargo bench --workspace --exclude ferromix-py

clean:  ## Remove what was built
	rm -rf target dist build $(VENV)
