# SPDX-License-Identifier: Apache-2.0
# Short names for common tasks. CMake does the work (see CMakePresets.json and docs/building.md).

BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 20
SOAK_SECONDS ?= 600
DEMO_JOBS ?= 2
# the distribution's Python has NumPy; another one that comes first in PATH may have none
PYTHON  = $(shell /usr/bin/python3 -c 'import numpy' 2>/dev/null && echo /usr/bin/python3 || echo python3)
# one thread per process, so that PyTorch's results do not depend on the machine's cores
PARITY  = PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 $(PYTHON)
export JOBS
# one more job than cores, because servers and browsers wait much of the time
CTEST   = ctest --output-on-failure -j$$(($(JOBS) + 1))

ifneq ($(shell command -v ninja 2>/dev/null),)
export CMAKE_GENERATOR ?= Ninja
endif

# configure(preset, folder, more): the first time only; cmake itself notices later changes
configure = test -f $(2)/build.ninja -o -f $(2)/Makefile || cmake --preset $(1) -B $(2) $(3)
compile   = cmake --build $(1) --parallel $(JOBS)

.PHONY: all tests test browser-test demo points pictures bench load parity install format asan tsan fuzz soak coverage clean help

all: ## the program and the libraries, in build/ (the default)
	@tools/deps --check build
	@$(call configure,release,$(BUILD))
	@$(call compile,$(BUILD)) --target products
	@ln -sfn $(BUILD)/compile_commands.json compile_commands.json

tests:
	@tools/deps build test
	@tools/deps browser || echo "the browser tests will be skipped" >&2
	@tests/browser/run --install
	@cmake --preset release -B $(BUILD) -DSCANT_TESTS=ON
	@$(call compile,$(BUILD))
	@ln -sfn $(BUILD)/compile_commands.json compile_commands.json

test: tests ## installs what the tests need, builds and runs all tests
	$(CTEST) --test-dir $(BUILD)

browser-test: tests ## the browser tests only, in the distribution's Chromium with npm's playwright-core
	$(CTEST) --test-dir $(BUILD) -L browser

demo: ## an active-learning experiment on Fashion-MNIST, with a report
	@tools/deps build demo
	@$(MAKE) --no-print-directory all
	@rm -rf $(BUILD)/demo
	@$(BUILD)/scant run experiments/demo.ini --jobs $(DEMO_JOBS) --threads 1 --out $(BUILD)/demo

points: ## a synthetic pool of points, and what three strategies pick from it
	@tools/deps build points
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tools/points $(BUILD)

pictures: ## draws the images of docs/ again
	@tools/deps build points
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tools/pictures $(BUILD)
	@$(PYTHON) tools/moons-figure $(BUILD)
	@$(PYTHON) tools/bss-curves $(BUILD)
	@tools/deps browser
	@tests/browser/run --install
	@SCANT=$(abspath $(BUILD))/scant tests/browser/run tools/page-pictures.js

bench: ## speed, compared with NumPy and PyTorch
	@tools/deps build bench
	@$(MAKE) --no-print-directory all
	@$(PYTHON) bench/bench.py --build $(BUILD)

load: ## load test of the server with wrk: requests per second, latencies
	@tools/deps build load
	@$(MAKE) --no-print-directory all
	@tools/load $(BUILD)

parity: ## gradients, whole trainings, accuracies, learning curves compared with PyTorch (10 minutes)
	@tools/deps parity
	@$(MAKE) --no-print-directory tests
	@$(PARITY) tests/nn/make_golden.py --check
	@$(PARITY) tests/parity/gradients.py --program $(BUILD)/tests/parity_dump_gradients
	@$(PARITY) tests/parity/steps.py --program $(BUILD)/tests/parity_record_training
	@$(PARITY) tests/parity/accuracies.py --program $(BUILD)/scant --jobs $(JOBS)
	@rm -rf $(BUILD)/parity
	@$(PARITY) tests/parity/replica.py --out $(BUILD)/parity --scant $(BUILD)/scant --jobs $(JOBS)

install: all ## into PREFIX (/usr/local), below DESTDIR if set
	cmake --install $(BUILD) --prefix $(PREFIX)
	@test -n "$(DESTDIR)" -o "$$(id -u)" != 0 || ldconfig || true

format: ## formats all C files
	tools/format

asan: ## the tests under the address and undefined-behaviour sanitizers
	@tools/deps build test
	@tools/sanitize asan

tsan: ## the tests of threaded code under the thread sanitizer
	@tools/deps build test
	@tools/sanitize tsan

fuzz: ## every file reader with libFuzzer, FUZZ_SECONDS (20) each
	@tools/deps build test
	@tools/fuzz $(FUZZ_SECONDS)

soak: ## the long tests: SOAK_SECONDS of fuzzing per reader, all attacks, sanitizers; prints the tables of docs/reliability.md
	@tools/deps build test
	@tools/soak $(SOAK_SECONDS)

coverage: ## line coverage of the tests, one line per file
	@tools/deps build test
	@cmake --preset coverage && $(call compile,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	$(CTEST) --test-dir build-coverage; status=$$?; tools/coverage build-coverage; exit $$status

clean: ## removes every build folder
	rm -rf build build-*/ compile_commands.json

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22
