# make demo   install what is missing, build, run the example
# make test   install what is missing, build, run every test
# make calibration   compare the simulator's times with published ones
# make docs   write the generated pages and what the snippets print
# make deps   the system packages alone
# Each step does nothing when there is nothing to do.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

PYTHON ?= python3
PRESET ?= dev
BUILD_DIR := $(if $(filter dev,$(PRESET)),build,build-$(PRESET))
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
TARGETS := _core tilewright-opt
export PATH := $(BIN):$(PATH)

PACKAGES := libmlir-19-dev mlir-19-tools llvm-19-dev libzstd-dev \
  clang-19 lld-19 libclang-rt-19-dev ccache clang-format-19 clang-tidy-19 \
  zlib1g-dev libgtest-dev nlohmann-json3-dev libboost-context-dev \
  g++ make git python3-venv python3-dev
BUILD_REQUIRES := "cmake>=3.29" "ninja>=1.11" "nanobind>=2.4" "numpy>=1.26" "ml_dtypes>=0.4"
TEST_REQUIRES := "torch==2.13.0" "pytest>=8" "pytest-timeout>=2.3" "pytest-xdist>=3.6" \
  "hypothesis>=6.100" "einops>=0.8" "tqdm>=4.60" "rich>=13" "lit>=18" "ruff>=0.8"

.PHONY: build demo test calibration docs deps venv venv-test configure wheel format tidy clean

deps:
	@missing=""; \
	for package in $(PACKAGES); do \
	  dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
	  echo "== installing$$missing"; \
	  sudo=""; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -qq; \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	    -o Dpkg::Use-Pty=0 --no-install-recommends $$missing > /dev/null; \
	fi

# The stamp names what was installed, so a changed list installs again.
venv: | deps
	@want='$(BUILD_REQUIRES)'; \
	if [ "$$(cat $(VENV)/.build-requires 2>/dev/null)" != "$$want" ]; then \
	  echo "== Python environment $(VENV)"; \
	  $(PYTHON) -m venv $(VENV); \
	  $(BIN)/python -m pip install -q $(BUILD_REQUIRES); \
	  echo "$$want" > $(VENV)/.build-requires; \
	fi

venv-test: venv
	@want='$(TEST_REQUIRES)'; \
	if [ "$$(cat $(VENV)/.test-requires 2>/dev/null)" != "$$want" ]; then \
	  echo "== Python packages of the tests (PyTorch among them)"; \
	  $(BIN)/python -m pip install -q $(TEST_REQUIRES); \
	  echo "$$want" > $(VENV)/.test-requires; \
	fi

configure: venv
	@echo "== configuring ($(PRESET))"
	@cmake --preset $(PRESET) -DPython_EXECUTABLE=$(BIN)/python > $(VENV)/configure.log \
	  || { cat $(VENV)/configure.log; exit 1; }

# Python sources are used where they are; .venv/bin/tilewright is the built tree's.
build: configure
	@echo "== building in $(BUILD_DIR)"
	@cmake --build $(BUILD_DIR) --target $(TARGETS)
	@$(BIN)/python utils/link_venv.py $(BUILD_DIR)

demo: TARGETS := _core
demo: build
	@$(BIN)/tilewright run examples/matmul_softmax.py

test: venv-test build
	@cmake --build $(BUILD_DIR) --target tilewright-tests
	@$(BIN)/python utils/run_tests.py --build $(BUILD_DIR)

calibration: venv build
	@cmake --build $(BUILD_DIR) --target tilewright-sim
	@TILEWRIGHT_BUILD=$(BUILD_DIR) $(BIN)/python bench/calibration/run.py --svg $(BUILD_DIR)/calibration.svg

docs: venv-test build
	@for script in gen_dialect_docs gen_api_table gen_doc_outputs; do $(BIN)/python utils/$$script.py || exit 1; done

wheel: venv
	$(BIN)/python -m pip wheel . --no-deps -w dist
	$(BIN)/python utils/wheel_needs.py dist/*.whl

format:
	clang-format-19 -i $$(git ls-files '*.cpp' '*.h')
	$(BIN)/ruff format python utils test examples bench
	$(BIN)/ruff check --fix python utils test examples bench

clean:
	rm -rf build build-release build-wheel dist
