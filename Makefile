# Every target sets up what it needs; a second run starts at once.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3,$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)))
READY := .venv/.ready
BIN := .venv/bin

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(READY) ## three nodes train on this machine: Paddle's own pservers and trainers, no root, no container (590 MB once, in the cache)
	@code=0; $(BIN)/paddlectl local --example recommendation || code=$$?; \
	    [ $$code -ne 69 ] || exec $(BIN)/paddlectl local; exit $$code

test: $(READY) ## all tests, with the coverage that is held; what cannot run here is told at the end
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m tests.suites $(PYTEST)

quick: override PYTEST += tests/unit tests/process
quick: test ## of them those that need neither containers nor a cluster

compose: $(READY) ## of them the image, and docker-compose on a Docker daemon of our own (root, Debian; minutes the first time)
	$(BIN)/pytest tests/compose $(PYTEST)

images: $(READY) ## the launcher brought into images of every kind (as compose; a newest Debian too)
	ALL_IMAGES=1 $(BIN)/pytest -v tests/compose/test_any_image.py $(PYTEST)

cluster: $(READY) ## of them k8s/ on a real Kubernetes of our own (root, Debian, Go; ten minutes the first time)
	$(BIN)/pytest tests/cluster $(PYTEST)

faults: $(READY) ## every fault of a gang, for real, planted in trainings, and during one on Paddle, as tables of what came of it
	@$(BIN)/python -m tests.process.faults
	@$(BIN)/python -m tests.real.planted $(PLANTED)
	@$(BIN)/python -m tests.real.faults

soak: $(READY) ## 300 gangs under random faults and 200 whose width changes, each with a true verdict; and all examples in good health, without an alarm
	@$(BIN)/python -m tests.soak $(SOAK)
	@$(BIN)/python -m tests.soak.widths $(WIDTHS)
	@$(BIN)/python -m tests.soak.healthy $(HEALTHY)

real: $(READY) ## of them the examples on Paddle's own parameter servers (600 MB and 1.4 GB once, in the cache)
	$(BIN)/pytest tests/real $(PYTEST)

frameworks: $(READY) ## torch, JAX, Paddle, XGBoost, LightGBM and TensorFlow: the examples trained, and every fault, as tables (9 GB once, in the cache)
	@$(BIN)/python -m tests.real.frameworks_table $(FRAMEWORKS)
	@ALL_FRAMEWORKS=1 $(BIN)/pytest tests/cluster/test_frameworks.py
	@$(BIN)/python -m bench.frameworks $(FRAMEWORKS)
	@$(BIN)/python -m bench.torchrun_widths $(FRAMEWORKS)
	@BENCH_TORCH=$$($(BIN)/python -m tests.real.install large-frameworks) \
	    BENCH_PADDLE=$$($(BIN)/python -m tests.real.install frameworks) $(BIN)/python -m bench gang

elastic: $(READY) ## a gang whose width changes, in Kueue and beside JobSet, and what a Job does around it (as cluster; Go 1.26, four minutes to build once)
	$(BIN)/pytest tests/cluster/elastic/kueue.py $(PYTEST)
	@$(BIN)/python -m tests.cluster.elastic.policies $(ELASTIC)
	@$(BIN)/python -m tests.cluster.elastic.jobset $(ELASTIC)
	@$(BIN)/python -m tests.cluster.elastic.real $(ELASTIC)

check: $(READY) ## types, lint, format
	$(BIN)/mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check

bench: $(READY) ## ours beside the peers as a table; ROWS="start stop": these alone; AGAINST=COMMIT: beside that commit's
	@$(BIN)/python -m bench $(ROWS) $(if $(AGAINST),--against $(AGAINST))

wheel: $(READY) ## build/wheel: the wheel, the same bytes each time, and what it needs as CycloneDX
	@$(BIN)/python -m tools.wheel build/wheel

setup: $(READY) ## the virtual environment alone, with locked versions

$(READY): requirements.lock setup.cfg pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer on PATH: install one, or run make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up .venv with $(PYTHON) (once; about half a minute)"
	@"$(PYTHON)" -m venv --clear .venv || { rm -rf .venv; echo "Python's venv module is not complete: on Debian, apt-get install python3-venv"; exit 1; }
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

lock: ## renew requirements.lock after a change of setup.cfg
	@"$(PYTHON)" -m venv build/lock
	@build/lock/bin/pip install --quiet pip-tools
	@build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --extra test \
	    --no-emit-index-url --no-emit-find-links --no-header --no-annotate -o requirements.lock setup.cfg

clean: ## remove what the targets above made
	rm -rf .venv build .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

.PHONY: images wheel real frameworks elastic faults soak help demo test quick compose cluster check bench setup lock clean
.DEFAULT_GOAL := help
