# Needs make, git and python3 >= 3.11; everything else is installed into .venv. `make` alone lists the targets.
PYTHON ?= python3
PY := .venv/bin/python
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run test test-all lint format bench screenshots lock messages clean prepare-run prepare-dev

help: ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

run: prepare-run ## the console at http://127.0.0.1:8000 (PORT, DATA_DIR, DATABASE_URL, REDIS_URL, SANDBOX, DEMO=0)
	@exec $(PY) -m console.runner

test: prepare-dev ## linters, types, layers, migrations and the tests, in a few minutes
	@exec $(PY) -m tools.check

test-all: prepare-dev ## the same with the slow tests, and everything again on PostgreSQL
	@exec $(PY) -m tools.check --all

lint: prepare-dev ## only the linters, types, layers and migrations check
	@exec $(PY) -m tools.check --lint

format: prepare-dev ## rewrite Python and templates in the project's style
	$(PY) -m ruff check --fix --quiet . || true
	$(PY) -m ruff format .
	$(PY) -m djlint --reformat --quiet templates || true

bench: prepare-dev ## one line a goal; ONLY=<name> runs one, ON=sqlite without PostgreSQL
	@exec $(PY) -m bench $(ONLY) $(if $(filter sqlite,$(ON)),--sqlite)

screenshots: prepare-dev ## every page as a picture, in both sizes, themes and languages; ONLY=<words>, OUT=<folder>
	@exec $(PY) -m tools.screenshots

lock: ## write the hashed locks anew from requirements*.in; UPGRADE=1 takes the newest releases
	@exec $(PYTHON) tools/lock.py $(if $(UPGRADE),--upgrade)

messages: prepare-dev ## collect the translatable texts into the catalogues (needs gettext)
	$(PY) manage.py makemessages --all --no-obsolete --no-location --ignore=.venv --ignore=var

clean: ## remove the virtual environment and caches; var/ with its data stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +

prepare-run:
	@$(PYTHON) tools/prepare.py requirements.txt --redis

prepare-dev:
	@$(PYTHON) tools/prepare.py requirements.txt requirements-dev.txt --redis
