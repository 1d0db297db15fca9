# Every target makes .venv first when it is missing or when the lock changed.
PYTHON ?= python3
BIN := .venv/bin
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Python keeps what it compiled: a rehearsal starts six processes and the tests thousands, each of which would
# compile what it imports again.
unexport PYTHONDONTWRITEBYTECODE

# The small network learns the drawn flowers from scratch: no download, no account.
FIRST_RUN = -p backbone=SmallNet -p weights=none -p head=none -p fine_tune=all \
  -p epochs=13 -p batch_size=32 -p learning_rate=3e-3 -p augment=flip -p dropout=0.2 \
  -p label_smoothing=0.05

.DEFAULT_GOAL := help
.PHONY: help run tpu-check push test test-long test-pythons test-browser shapes pictures test-tpu test-parity fuzz lab docs site bench lint lock conformance

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

# $(call install,LOCK,PYTHON): what a lock pins, with its hashes. uv takes a fifth of pip's time, shows its progress
# and asks the index that pip is set to. pip brings uv, as requirements.lock pins it, and takes over where uv cannot
# be had or does not get through.
define install
@lock=$$(mktemp); trap 'rm -f "$$lock"' EXIT; sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > "$$lock"; \
  index=$${PIP_INDEX_URL:-$$($(2) -m pip config get global.index-url 2> /dev/null || true)}; \
  $(2) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$$lock" \
  && $(2) -m uv pip install --compile-bytecode $${index:+--default-index "$$index"} --python $(2) --require-hashes --no-deps -r $(1) \
  || { echo 'uv did not get through, so pip installs ...'; \
       $(2) -m pip install --disable-pip-version-check --require-hashes --no-deps -r $(1); }
endef

.venv/installed: requirements.lock pyproject.toml src/local_kaggle/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'Python 3.11 or later is needed: make PYTHON=/path/to/python3.12 ...'; exit 2; }
	@echo 'making .venv from requirements.lock (a minute or two the first time) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(call install,requirements.lock,$(BIN)/python)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e src/local_kaggle
	@touch $@

RUN = rehearse --force --accelerator cpu $(FIRST_RUN)
run: .venv/installed ## the whole loop on this machine: push to a local Kaggle, train, report (2 minutes)
	$(BIN)/kernelkit $(RUN)
	@echo 'To type kernelkit in this shell: export PATH="$$PWD/.venv/bin:$$PATH"'

# make tpu-check ARGS='-p fine_tune=all -p backbone=EfficientNetB5 -p image_size=512'
tpu-check: .venv/installed ## whether 02_train fits a TPU, by the TPU's own compiler (first time: 3 GB)
	$(BIN)/kernelkit check --tpu notebooks/02_train.ipynb $(ARGS)

push: .venv/installed ## the same notebook to Kaggle's TPU (needs a Kaggle token)
	$(BIN)/kernelkit push

# More workers than cores, since many tests wait for a server or a process. Each begins with tests that stand
# together, so that what a module's tests share is made once, and takes over from the others later.
# mypy needs one core for half a minute, so it runs beside them; what it says comes last.
test: .venv/installed ## lint, types and the tests (5 minutes)
	@$(MAKE) --no-print-directory lint > .venv/lint.log 2>&1 & lint=$$!; \
	  $(BIN)/python -m pytest -n 5 --dist worksteal; tests=$$?; \
	  wait $$lint; lint=$$?; cat .venv/lint.log; \
	  [ $$tests = 0 ] && [ $$lint = 0 ]

test-long: .venv/installed ## the tests that take more than a few seconds each
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "long and not browser"

# A Python that starts: on the path, or among pyenv's.
python = $(firstword $(shell python$(1) -c 'import sys; print(sys.executable)' 2>/dev/null) \
  $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python))
PYTHONS ?= 3.12 3.13

test-pythons: ## the tests that need no TensorFlow, on Python 3.12 and 3.13 where they start (3 minutes each)
	@$(foreach version,$(PYTHONS),$(if $(call python,$(version)),$(MAKE) test-on-$(version) &&,echo 'no Python $(version) starts here' &&)) true

.PRECIOUS: .venv-3.%/installed
test-on-%: .venv-%/installed
	.venv-$*/bin/python -m pytest -n 3 -p no:cacheprovider tests/kernelkit tests/local_kaggle

# With the lock's versions, but without its hashes: pip knows none of a checkout.
.venv-3.%/installed: requirements.lock pyproject.toml src/local_kaggle/pyproject.toml
	@test -x $(@D)/bin/python || $(call python,3.$*) -m venv $(@D)
	@grep -oE '^[a-z0-9.-]+==[^\]+' requirements.lock > $(@D)/versions.txt
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -c $(@D)/versions.txt -e '.[sweep,hidden,scoring]' -e src/local_kaggle pytest pytest-timeout pytest-xdist
	@touch $@

# Pages as people meet them: Chromium is the system's (apt-get install chromium).
BROWSER := .venv-browser/bin/python

.venv-browser/installed: requirements-browser.lock
	@test -x $(BROWSER) || $(PYTHON) -m venv .venv-browser
	$(call install,$<,$(BROWSER))
	@touch $@

# A sweep of six short runs, two of which fail, with its pages, and the report of a session with attacks.
shapes: .venv/installed
	$(BIN)/kernelkit sweep tests/browser/shapes.yaml --output runs/browser/shapes --quiet || test $$? = 6
	$(BIN)/kernelkit report runs/browser --index
	$(BIN)/kernelkit report runs/browser/shapes/[0-9a-f]*/
	$(BIN)/python tests/browser/made_sweep.py runs/browser/made/search 1000
	$(BIN)/python tests/browser/hostile_session.py runs/browser/made/session/hostile

test-browser: shapes site .venv-browser/installed ## the pages and the site in Chromium, the notebooks in JupyterLab; pictures in runs/browser/pictures
	$(BROWSER) -m pytest -c tests/browser/pytest.ini tests/browser
	$(BIN)/python -m pytest -n 2 -m browser

# The pages of a real sweep, to click: it runs once, and again after `rm -r docs/examples`.
EXAMPLE := docs/examples/example/index.html
$(EXAMPLE): docs/example.yaml | .venv/installed
	$(BIN)/kernelkit sweep $< --quiet
	@mkdir -p docs/examples
	@cd runs && tar cf - example/index.html example/*/report.html | tar xf - -C ../docs/examples
	@touch $@

pictures: $(EXAMPLE) ## the pictures of README, from make run and a small sweep (needs Chromium)
	$(BIN)/python tools/pictures.py -- $(BIN)/kernelkit $(RUN)

# Kaggle's image is reported to run Python 3.13 since October 2026; its lock is for no other.
PARITY_PYTHON ?= $(or $(call python,3.13),python3.13)
PARITY := .venv-parity/bin/python
# What runs inside a session. The rest of kernelkit runs at the desk, on the desk's versions.
PARITY_TESTS ?= tests/petals tests/kernelkit/running/test_run_notebook.py tests/kernelkit/sweep/test_sweep.py

.venv-parity/installed: requirements-kaggle.lock
	@echo 'making .venv-parity from requirements-kaggle.lock (a few minutes the first time) ...'
	@test -x $(PARITY) || $(PARITY_PYTHON) -m venv .venv-parity
	$(call install,$<,$(PARITY))
	@$(PARITY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test-parity: .venv-parity/installed ## what runs in a session, on the versions of Kaggle's images
	$(PARITY) -m pytest -n 2 -m "long or not long" -p no:cacheprovider $(PARITY_TESTS)

test-tpu: .venv/installed ## the tests that need the TPU's compiler (5 minutes; first time 3 GB)
	$(BIN)/python -m pytest -m tpu tests/shipped

# Eight at once, since a push over a bad network waits most of its time.
fuzz: .venv/installed ## 200 pushes over a network that misbehaves by seed; 60 killed again and again; odd values in every field of every answer
	@mkdir -p runs && rm -f runs/fuzz.tsv
	FUZZ_SCHEDULES=200 FUZZ_COMMAND=1 FUZZ_JOURNAL=$(CURDIR)/runs/fuzz.tsv $(BIN)/python -m pytest -n 8 tests/kernelkit/push/test_push_faults.py
	FUZZ_KILLS=60 FUZZ_JOURNAL=$(CURDIR)/runs/fuzz.tsv $(BIN)/python -m pytest -n 8 -m long tests/kernelkit/push/test_push_kills.py
	FUZZ_MUTATIONS=all FUZZ_JOURNAL=$(CURDIR)/runs/fuzz.tsv $(BIN)/python -m pytest -n 8 tests/kernelkit/push/test_mutations.py
	@cut -f1 runs/fuzz.tsv | sort | uniq -c

# The sources of the newest releases on the package index, with their tests; KAGGLE_CLI=checkout and
# KAGGLEHUB=checkout take their place and stay as they are. KAGGLEHUB_PYTHON=python of an environment
# with what kagglehub's unit tests need runs those too, without their stubs. Writes the docs' page.
conformance: .venv/installed ## the tests of the newest clients (or KAGGLE_CLI, KAGGLEHUB) against the local Kaggle
	PYTHONPATH=tools $(BIN)/python -m suites --released --output docs/reference/conformance.md \
	  $(if $(KAGGLE_CLI),--kaggle-cli $(KAGGLE_CLI)) $(if $(KAGGLEHUB),--kagglehub $(KAGGLEHUB)) \
	  $(if $(KAGGLEHUB_PYTHON),--python $(KAGGLEHUB_PYTHON))

lint: .venv/installed ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Outputs stay in the working file: git sees a notebook as it is committed, without them.
CLEAN = $(BIN)/python -m nbstripout --keep-id --extra-keys metadata.language_info

lab: .venv/installed lab-filter ## JupyterLab, with notebooks and their .py paired both ways
	JUPYTER_CONFIG_PATH=$(CURDIR)/.jupyter $(BIN)/jupyter lab notebooks $(ARGS)

.PHONY: lab-filter
lab-filter:
	@git config filter.nbstripout.clean '$(CLEAN)' && git config filter.nbstripout.smudge cat \
	  && git config merge.notebook.driver '$(BIN)/python -m kernelkit.edits.merge %O %A %B' \
	  || echo 'no git repository here: outputs are not kept out of commits'

docs: .venv/installed ## docs/reference/cli.md, from the commands' own help
	$(BIN)/python docs/cli_reference.py

# An environment of its own: the site needs nothing of the kit but its docstrings, read as text.
.venv-docs/installed: requirements-docs.lock
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(call install,$<,$(@D)/bin/python)
	@touch $@

site: .venv-docs/installed $(EXAMPLE) ## the documentation as a site, in site/ (first time: 3 minutes)
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet

bench: .venv/installed ## the figures of docs/appendix/measurements.md that need no photos, on this machine
	$(BIN)/python tools/benchmark.py

PIN = uv pip compile --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
  --no-header --python-version 3.11 --quiet pyproject.toml

lock: ## pin pyproject's dependencies and the versions of Kaggle's images again (needs uv)
	$(PIN) --extra rehearse --extra sweep --extra hidden --extra scoring --no-emit-package local-kaggle --group petals --group jax --group dev -o requirements.lock
	$(subst pyproject.toml,,$(PIN)) --group browser -o requirements-browser.lock
	$(subst pyproject.toml,,$(PIN)) --group docs -o requirements-docs.lock
	$(subst --universal ,,$(PIN:3.11=3.13)) --group kaggle --no-emit-package tensorflow -o requirements-kaggle.lock
	$(PIN:pyproject.toml=) --group pyproject.toml:tpu --no-emit-package tensorflow -o requirements-tpu.lock
	@sed -i '1i # The versions of Kaggle'"'"'s images, as looked up on '"$$(date +%F)"' (make lock)' requirements-kaggle.lock
	@sed -i '1i # The same, and the compiler of its TPUs: libtpu, under the Google Cloud Platform Terms of Service' requirements-tpu.lock
