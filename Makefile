# Everything a person or a machine does with Ferromix. `make` alone explains itself.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help dev quick demo check test test-rust test-debug test-python test-gpu soak-gpu test-knobs test-isa loom shuttle stress examples fuzz msrv semver turbojpeg neon guide mutants-cards mutants-kernels mutants mutants-all memcheck nightly lint fmt gen wheel test-wheel bench bench-kernels bench-calls bench-gpu docs clean

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

quick: $(BIN)/maturin  ## The same in under half a minute after an edit, for code that runs slowly; the first time everything
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --profile quick --quiet

# What `make dev` or `make quick` puts into the package: cards and cases need no newer one.
CORE := python/ferromix/_core.abi3.so
$(CORE):
	$(MAKE) dev

demo: dev  ## Train LeNet on handwritten digits, save it, score the saved one again
	$(BIN)/python examples/train_digits.py --output build/demo
	$(BIN)/python examples/train_digits.py --load build/demo/digits

check: $(CORE) $(VENV)/checkers  ## What to run at each edit: format, lints, types, the quicker tests
	cargo fmt --all --check
	cargo clippy --workspace --quiet -- -D warnings
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/pyright
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow and not nightly"

test: test-python test-rust  ## All Rust and Python tests

# Engine and pool with their debug assertions, which state much of the protocol; the kernels as users
# get them, in the build that the package has, since theirs is the longest.
ASSERT := --config profile.release.package.ferromix-engine.debug-assertions=true \
          --config profile.release.package.ferromix-storage.debug-assertions=true
MODEL  := cargo test --release --quiet $(ASSERT)

test-rust:  ## Unit, integration and documentation tests of the crates
	$(MODEL) --workspace --exclude ferromix-py

# What CPUs without a matrix unit, without AVX-512, and without AVX2, run.
test-isa: dev $(VENV)/checkers  ## Kernels, and the operators on them, with fewer instructions than the CPU has
	@for level in avx512 avx2 base; do \
	    echo "$$level"; FERROMIX_ISA=$$level $(MODEL) -p ferromix-kernels || exit 1; \
	    FERROMIX_ISA=$$level $(BIN)/python -m pytest -q -n auto --dist worksteal tests/ops/test_forward.py || exit 1; \
	done

test-debug:  ## The same with all checks of the compiler: overflow, and debug assertions everywhere
	cargo test --workspace --exclude ferromix-py --quiet

# MARKED="" runs those that are left to the night, too.
MARKED ?= not nightly
test-python: dev $(VENV)/checkers  ## Tests of the package, the examples and the layering
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "$(MARKED)"

# The parts that push operations, again under settings that change how they run.
KNOBS := "FERROMIX_ENGINE_TYPE=NaiveEngine MXNET_CPU_MEM_POOL_TYPE=Unpooled" \
         "FERROMIX_CPU_WORKER_NTHREADS=1 FERROMIX_NUM_THREADS=5"
PUSHERS := tests/ndarray tests/autograd tests/symbol tests/executor tests/optimizer tests/kvstore tests/io tests/recordio \
           tests/interop tests/test_errors.py

# With a GPU there, on it; else on what stands in for one, which needs a C++ compiler. Everything that
# there is to run on a GPU: make test-gpu GPU_TESTS="tests/gpu tests/ops"
GPU_TESTS ?= tests/ops/test_forward.py
test-gpu: dev $(VENV)/checkers  ## The tests of GPUs, and the operators on one
	FERROMIX_TEST_DEVICE="gpu(0)" $(BIN)/python -m pytest -q -n auto --dist worksteal -m "$(MARKED)" $(GPU_TESTS)

# 100,000 steps on a GPU, all of its memory; copies, events and streams under the checker of CUDA's toolkit.
CHECKED ?= tests/gpu/test_gpu_memory.py tests/gpu/test_refusals.py tests/gpu/test_edges.py
soak-gpu: dev $(VENV)/checkers  ## Long use of a GPU, and compute-sanitizer, where there is one
	$(BIN)/python tools/gpu/soak.py --fill
	@for tool in memcheck racecheck; do \
	    compute-sanitizer --tool $$tool --error-exitcode 1 $(BIN)/python -m pytest -q -m "$(MARKED)" $(CHECKED) || exit 1; \
	done

test-knobs: dev $(VENV)/checkers  ## The tests of arrays and graphs, naive, with one worker, unpooled
	@for knob in $(KNOBS); do \
	    echo "$$knob"; env $$knob $(BIN)/python -m pytest -q -n auto --dist worksteal $(PUSHERS) || exit 1; \
	done

# The longest model looks deeper where FERROMIX_LOOM_DEEP is set, as `make nightly` does: minutes, for 20 s.
loom:  ## Model-check the lock-free parts, with their memory orderings
	RUSTFLAGS="--cfg loom" $(MODEL) --target-dir target/loom -p ferromix-engine --lib --test 'loom_*'
	RUSTFLAGS="--cfg loom" $(MODEL) --target-dir target/loom -p ferromix-storage --lib loom
	RUSTFLAGS="--cfg loom" cargo test --release --quiet --target-dir target/loom -p ferromix-kernels --lib loom

shuttle:  ## Explore interleavings of the whole engine
	RUSTFLAGS="--cfg shuttle" $(MODEL) --target-dir target/shuttle -p ferromix-engine --lib shuttle -- --nocapture

STRESS_SECONDS ?= 25
stress: dev  ## Load on the engine and on operators of one's own, with everything that is promised checked meanwhile (STRESS_SECONDS=25)
	cargo run --release --quiet -p ferromix-engine --example stress -- --seconds $(STRESS_SECONDS) --pushers 4 --seed 1
	cargo run --release --quiet -p ferromix-engine --example stress -- --seconds $(STRESS_SECONDS) --pushers 12 --seed 2
	cargo run --release --quiet -p ferromix-engine --example stress -- --seconds $(STRESS_SECONDS) --pushers 4 --seed 3 --bulk 15
	$(BIN)/python tools/stress/custom_operators.py --seed 1 --runs $$(($(STRESS_SECONDS) * 4000))

examples:  ## Run the engine's examples, which check what they compute
	@for example in cholesky pipeline replay_loop; do \
	    cargo run --release --quiet -p ferromix-engine --example $$example || exit 1; \
	done

# CALLS is how many, SEED is where they come from.
CALLS ?= 20000
SEED  ?= 0
fuzz: dev  ## Call everything with all kinds of bad input (CALLS=20000 SEED=0)
	$(BIN)/python tools/fuzz/run.py --calls $(CALLS) --seed $(SEED)

# MSRV=test runs their tests, too, as `make nightly` does.
MSRV ?= check
msrv:  ## Check the crates that stand alone with the oldest Rust that they work with
	tools/msrv.sh $(MSRV)

semver:  ## Compare the engine's interface with the one last agreed on
	tools/semver.sh

turbojpeg:  ## The tests of images with libjpeg-turbo in place of zune-jpeg (needs cmake and nasm)
	cargo test --release --quiet -p ferromix-io --features turbojpeg --test image --test image_hostile

neon:  ## Compile the crates for 64-bit ARM
	tools/neon.sh

guide: dev $(VENV)/checkers  ## Follow docs/adding-an-operator.md in a copy of the sources, and run its tests
	$(BIN)/python tools/guide.py

mutants-cards: dev $(VENV)/checkers  ## Follow it, break the new cards and kernels on purpose, and see that a test notices
	$(BIN)/python tools/guide.py --mutants

# COUNT is how many, SEED is where they are drawn from.
COUNT ?= 40
mutants-kernels: dev $(VENV)/checkers  ## Break kernels at random, and see that a test notices (COUNT=40 SEED=0)
	$(BIN)/python tools/kernel_mutants.py --count $(COUNT) --seed $(SEED)

mutants:  ## Break engine and pool on purpose, and see that a check notices
	$(PYTHON) tools/mutants/run.py

mutants-all:  ## The slow ones, too
	$(PYTHON) tools/mutants/run.py --all

# Only what is lost for certain: operation blocks are kept until the process ends, and free ones are
# reached through each other, at addresses inside their chunk, which valgrind calls possibly lost.
# Without the test that counts allocations (under valgrind queues grow later than it expects), and
# without the pool's tests that fork: what the parent's other threads held is lost in the child.
VALGRIND := valgrind --quiet --fair-sched=yes --leak-check=full --error-exitcode=9 \
            --show-leak-kinds=definite --errors-for-leak-kinds=definite
RUN_WITH := CARGO_TARGET_$(shell rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')_RUNNER

memcheck:  ## The tests of engine and pool under valgrind
	PROPTEST_CASES=4 $(RUN_WITH)="$(VALGRIND)" cargo test --quiet -p ferromix-engine --lib --tests -- --test-threads 2 --skip a_warm_engine --skip programs_that_must
	PROPTEST_CASES=4 $(RUN_WITH)="$(VALGRIND)" cargo test --quiet -p ferromix-storage --lib --test pool --test overlap -- --test-threads 2

nightly: export FERROMIX_LOOM_DEEP = 1
nightly: MSRV = test
nightly: MARKED =
nightly: GPU_TESTS = tests/gpu tests/ops
nightly: lint test test-isa test-debug test-gpu test-knobs test-wheel loom shuttle stress examples msrv semver turbojpeg neon mutants-all memcheck mutants-cards mutants-kernels docs  ## Everything, with a million calls of the fuzzer: some hours
	$(MAKE) fuzz CALLS=1000000

lint: dev $(VENV)/checkers  ## Formatting, lints and types of Rust and Python
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --quiet -p ferromix-engine -p ferromix-storage
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

fmt: $(VENV)/checkers  ## Format everything
	cargo fmt --all
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .

# PROFILE=release takes the build of `make dev`: a larger wheel, a little slower, in a minute.
PROFILE ?= dist
wheel: $(BIN)/maturin  ## Build the wheel into dist/ (PROFILE=dist)
	$(BIN)/maturin build --profile $(PROFILE) --quiet --out dist

test-wheel: wheel  ## Install the wheel without Rust in a clean environment and train with it
	tools/check_wheel.sh dist/ferromix-*.whl

gen: $(CORE) $(VENV)/checkers  ## Write what is generated from the operator cards: reference and stubs
	$(BIN)/python tools/gen.py

bench:  ## Benchmarks of engine, pool and kernels
	cargo bench --workspace --exclude ferromix-py

# TORCH is an interpreter that has torch, if there is one.
bench-kernels: dev  ## The table of kernels beside NumPy and torch (TORCH=python) in docs/performance.md
	$(BIN)/python benches/kernels.py $(if $(TORCH),--torch $(TORCH))

# MXNET is an interpreter that has MXNet 1.9.1, if there is one.
bench-calls: dev  ## The table of small operations (MXNET=python TORCH=python) in docs/performance.md
	$(BIN)/python benches/dispatch.py $(if $(MXNET),--mxnet $(MXNET)) $(if $(TORCH),--torch $(TORCH))

# SIZES=small with FERROMIX_GPU_DRIVER=host tries it without a GPU. Beside it are torch and CuPy, if .venv has them.
SIZES ?= large
bench-gpu: dev  ## The table of GPU kernels, launches and networks beside torch and CuPy (SIZES=large)
	$(BIN)/python -m benches.gpu --sizes $(SIZES)

docs: dev $(VENV)/site  ## Build the site in build/site: guides, operators, API
	$(BIN)/python -m sphinx --quiet --fail-on-warning -c docs -b html . build/site

$(VENV)/site: $(BIN)/maturin
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

clean:  ## Remove what was built
	rm -rf target dist build $(VENV)
