# What a newcomer can do: make help
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python
JOBS ?= 2
FIRST ?= 0
COUNT ?= 1000

.DEFAULT_GOAL := help
.PHONY: help install test filecheck lint format types check full fuzz coverage matrix purity grammar versions first-tries accuracy ascend ascend-judges ascend-mutants endurance demo examples bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

install: ## everything for development, into the active environment, and the git hook
	$(PYTHON) -m pip install -e '.[test,examples]'
	pre-commit install

test: ## the tests that every change passes
	$(PYTHON) -m pytest -n $(JOBS)

filecheck: ## the FileCheck tests alone, as processes under lit
	lit -v -j $(JOBS) tests

lint: ## ruff's rules and format
	ruff check .
	ruff format --check .

format: ## let ruff mend what it can
	ruff check --fix .
	ruff format .

types: ## pyright
	pyright

check: lint types test ## lint, types, test

versions: ## the wheel and tests under each Python at hand, with the oldest and the newest NumPy; hours
	nice $(PYTHON) tests/support/versions.py --jobs $(JOBS) --page docs/verification/versions.md

full: ## every test, the long ones too, and `make versions`; the summaries go to docs/verification/
	mkdir -p docs/verification
	nice $(PYTHON) -W ignore -m mlirad.testing.calls --first $(FIRST) --count $(COUNT) --log build/fuzz/calls.jsonl --page docs/verification/random-calls.md
	nice $(PYTHON) -W ignore tests/support/python_target_walk.py --first $(FIRST) --count $$(( $(COUNT) * 2 / 5 )) --page docs/verification/python-target.md
	MLIRAD_CI=1 MLIRAD_FULL=1 $(PYTHON) -m pytest -q -n $(JOBS) | tee docs/verification/full.log
	tail -n 1 docs/verification/full.log > docs/verification/full.txt
	$(MAKE) versions

fuzz: ## random programs against NumPy and differences; FIRST=seed COUNT=seeds; resumed from build/fuzz/ where it stopped
	mkdir -p build/fuzz
	$(PYTHON) -m mlirad.testing.programs --how tensor --no-derivatives --first $(FIRST) --count $(COUNT) --log build/fuzz/tensor.jsonl
	$(PYTHON) -m mlirad.testing.programs --how native --no-derivatives --first $(FIRST) --count $$(( $(COUNT) / 10 )) --log build/fuzz/native.jsonl
	$(PYTHON) -m mlirad.testing.programs --how native --first $(FIRST) --count $$(( $(COUNT) / 25 )) --log build/fuzz/derivatives.jsonl
	$(PYTHON) -m mlirad.testing.programs --how native --target python --first $(FIRST) --count $$(( $(COUNT) / 25 )) --log build/fuzz/python.jsonl
	nice $(PYTHON) -W ignore -m mlirad.testing.calls --first $(FIRST) --count $(COUNT) --log build/fuzz/calls.jsonl --page docs/verification/random-calls.md

coverage: ## run a call of every public function; writes docs/coverage.md and the table that the package has; resumed
	nice $(PYTHON) -W ignore -m mlirad.testing.calls.measure

matrix: ## every transform of every transform, against differences; writes docs/verification/transform-matrix.md
	nice $(PYTHON) -m mlirad.testing.matrix --page docs/verification/transform-matrix.md

purity: ## call every public callable in a kernel; the summary goes to docs/verification/purity.md
	$(PYTHON) tests/support/purity_walk.py --page docs/verification/purity.md

grammar: ## programs drawn from Python's grammar and NumPy's signatures; FIRST=seed COUNT=seeds
	$(PYTHON) -W ignore -m mlirad.testing.grammar --first $(FIRST) --count $(COUNT)

first-tries: ## the verdicts on programs written without the compiler in mind; writes docs/verification/first-tries.md
	PYTHONPATH=tests/support $(PYTHON) -m first_tries.verdicts

accuracy: ## the largest errors of elementwise functions, and their times beside NumPy's; writes docs/verification/accuracy.md
	$(PYTHON) tests/support/accuracy_walk.py --count $$(( $(COUNT) * 1000 )) --page docs/verification/accuracy.md

ascend-mutants: ## damage kernels of the Ascend target in every place; writes docs/verification/ascend-mutants.md; resumed
	nice $(PYTHON) tests/support/ascend_campaign.py

endurance: ## threads, forks and processes, COUNT rounds of each scenario
	$(PYTHON) benchmarks/endurance.py $(COUNT)

ascend: ## the Ascend target against the cpu target, at every size; writes docs/verification/ascend.md
	nice $(PYTHON) tests/support/ascend_corpus.py --page docs/verification/ascend.md

ascend-judges: ## the Ascend target's corpus before Huawei's open compiler and MLIR; writes docs/verification/ascend-judges.md
	nice $(PYTHON) tests/support/ascend_judged.py --page docs/verification/ascend-judges.md

demo: ## train a classifier of handwritten digits
	mlirad demo

examples: ## each checks its own result
	set -e; for example in examples/*.py examples/lenet/lenet_mindspore.py; do echo "== $$example"; $(PYTHON) $$example; done

bench: ## benchmarks beside peers; pip install '.[bench]' for all of them
	set -e; for benchmark in growth ratios peers vjp_reuse jacobians memory digits_step calls compile_time start_up library_functions parallel leaks; do echo "== $$benchmark"; $(PYTHON) benchmarks/$$benchmark.py; done

clean: ## what builds and tests leave
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis mlirad-demo-dumps
	find . -name __pycache__ -o -name Output -path './tests/*' | xargs rm -rf
