# Every target makes .venv first when it is missing or when the lock changed.
PYTHON ?= python3
BIN := .venv/bin
export TF_CPP_MIN_LOG_LEVEL ?= 3

# The small network learns the drawn flowers from scratch: no download, no account.
FIRST_RUN = -p backbone=SmallNet -p weights=none -p head_epochs=0 -p fine_tune=all \
  -p epochs=20 -p batch_size=64 -p learning_rate=3e-3 -p augment=flip -p dropout=0.2 \
  -p label_smoothing=0.05

.DEFAULT_GOAL := help
.PHONY: help run push test fuzz lab bench lint lock

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 10

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'Python 3.11 or later is needed: make PYTHON=/path/to/python3.12 ...'; exit 2; }
	@echo 'making .venv from requirements.lock (a few minutes the first time) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: .venv/installed ## the whole loop on this machine: push to a local Kaggle, train, report (3 minutes)
	$(BIN)/python tools/push_kernel.py --local --force --accelerator cpu $(FIRST_RUN)

push: .venv/installed ## the same notebook to Kaggle's TPU (needs a Kaggle token)
	$(BIN)/python tools/push_kernel.py

test: .venv/installed lint ## lint, types and every test (under 10 minutes)
	$(BIN)/python -m pytest -n 2

fuzz: .venv/installed ## 200 pushes over a network that misbehaves by seed
	@mkdir -p runs && rm -f runs/fuzz.tsv
	FUZZ_SCHEDULES=200 FUZZ_JOURNAL=$(CURDIR)/runs/fuzz.tsv $(BIN)/python -m pytest -n 2 tests/kernelkit/test_push_faults.py
	@cut -f1 runs/fuzz.tsv | sort | uniq -c

lint: .venv/installed ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lab: .venv/installed ## JupyterLab, with notebooks and their .py paired both ways
	$(BIN)/jupyter lab notebooks

bench: .venv/installed ## the figures of the README, measured on this machine
	$(BIN)/python tools/benchmark.py

lock: ## pin pyproject's dependencies again (needs uv)
	uv pip compile --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --all-extras --python-version 3.11 --quiet pyproject.toml -o requirements.lock
