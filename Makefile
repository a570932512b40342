# The commands of this project; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
BIN := .venv/bin
# The tools of the virtual environment come first; the Pulumi engine and the stand-ins are found by those who need them.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Python's byte code is worth keeping here: without it each pulumi command compiles the SDK anew, some seconds.
unexport PYTHONDONTWRITEBYTECODE

# Quick ones first: what is wrong is shown as early as possible.
TESTS := $(wildcard tests/unit tests/infra tests/emulator tests/setup tests/provider tests/hosts tests/ansible \
	tests/molecule tests/end_to_end)
QUICK_TESTS := $(wildcard tests/unit tests/infra tests/emulator)

.PHONY: help setup rehearse test test-quick lint bench lock clean

help: ## List these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' \
		| awk -F'\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## Find or provide what a rehearsal needs on this machine; safe to repeat
	@./setup.sh

rehearse: setup ## Rehearse the whole life of a pod here: create, configure, verify, repeat, destroy (KEEP=1: stop before)
	@$(BIN)/tpuwright rehearse

test: setup ## Run every test: unit, infra, emulator, provider, hosts, Molecule, end to end
	@$(BIN)/pytest --junitxml=build/junit.xml --durations=10 $(TESTS)

test-quick: setup ## Run the tests that need no host: seconds
	@$(BIN)/pytest $(QUICK_TESTS)

lint: setup ## Check style, types, playbooks, YAML and shell scripts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/yamllint --strict .
	ANSIBLE_INVENTORY_UNPARSED_FAILED=false $(BIN)/ansible-lint --offline --profile production
	$(BIN)/shellcheck $$(git ls-files -z | xargs -0 grep -lE '^#!.*\b(ba|da)?sh\b' -- )
	$(BIN)/pytest -q tests/unit/test_role_specs.py

bench: setup ## Measure ours against the manual procedure, in one go on the same image
	@$(BIN)/python bench/run.py

lock: ## Pin the versions of everything that pyproject.toml names (UPGRADE=1: the newest ones)
	$(BIN)/uv pip compile pyproject.toml --all-extras --python-version 3.11 --no-header --no-emit-index-url \
		--generate-hashes --quiet $(if $(UPGRADE),--upgrade) --output-file requirements.txt
	$(BIN)/python -m rehearsal.engine.relock

clean: ## Remove the virtual environment and what rehearsals left here; refused while one runs
	@if pid=$$(sed -nE 's/.*"pid": *([0-9]+).*/\1/p' .rehearsal/emulator.json 2>/dev/null) && \
		[ -n "$$pid" ] && kill -0 "$$pid" 2>/dev/null; then \
		echo "The embedded cloud of this checkout still runs (process $$pid), perhaps with a pod in it:" \
			"destroy the stack, then '$(BIN)/tpuwright emulator stop', then clean." >&2; exit 1; fi
	rm -rf .venv .rehearsal .tpuwright build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .ansible
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
