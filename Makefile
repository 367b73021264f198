# Needs git, make and python3 >= 3.11; everything else is installed into .venv.
#   make demo    a card room's day through the real API
#   make test    all tests
#   make oracle  10,000 random hands of each game, settled as PokerKit settles them
#   make fuzz    100,000 mutants of right hands: none that breaks a rule may pass
#   make serve   database, API, projections and worker, until Ctrl-C
#   make bench   throughput, beside what the database alone can do
#   make judge-bench  what judging a hand costs
#   make check   lint, types, layers, and that the lock is up to date
#   make lock    resolve the dependencies of pyproject.toml anew
#   make clean   remove .venv and caches; ./var, which holds the books, stays

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --group dev pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.PHONY: setup test oracle fuzz demo serve bench judge-bench check lock clean
.DELETE_ON_ERROR:

# What a profile shows to be busy is compiled where there is a C compiler; it takes a minute.
setup: $(READY)
	@$(BIN)/python -m ops.compile

# Wheels only: building a source package would bring in tools that no hash vouches for.
$(READY): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "python3 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' \
		|| { echo "python3 has no venv module; Debian keeps it in the package python3-venv"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@

WORKERS ?= 2

# In as many processes; the order is that of tests/conftest.py. Plain pytest runs in one.
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

HANDS ?= 10000
SEED ?= 1

oracle: setup
	$(BIN)/python -m tests.oracle --hands $(HANDS) --seed $(SEED)

MUTANTS ?= 100000

fuzz: setup
	$(BIN)/python -m tests.fuzz --mutants $(MUTANTS) --seed $(SEED)

demo: setup
	$(BIN)/cardroom demo

serve: setup
	$(BIN)/cardroom serve

bench: setup
	$(BIN)/cardroom bench

judge-bench: setup
	$(BIN)/python -m ops.bench.judging

# The lock is resolved again with today's lock as the preference: it differs only when
# pyproject.toml asks for something that it does not hold.
check: setup
	@cp requirements.lock .venv/requirements.lock
	@$(COMPILE) --output-file .venv/requirements.lock > .venv/lock.log 2>&1 \
		|| { cat .venv/lock.log; exit 1; }
	@diff requirements.lock .venv/requirements.lock \
		|| { echo "requirements.lock is out of date: run make lock"; exit 1; }
	@! grep -n '://' requirements.lock
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

lock: setup
	$(COMPILE) --output-file requirements.lock

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -not -path './var/*' -prune -exec rm -rf {} +
