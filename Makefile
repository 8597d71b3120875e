# Without variables everything runs on the sample documents. Variables:
#   DOCS=…   files, folders or globs to ingest          Q="…"     the question
#   MODEL=…  a litellm model name, e.g. openai/gpt-4.1   STORE=…   folder of the store
#   EMBEDDING_MODEL=…   PYTHON=…   VENV=…
#   LOCKED=1   install exactly the packages that deploy/locks names     UPGRADE=1   `make lock` takes newer ones
# `make ingest` and `make ask` set themselves up. Beside make, `pip install graphrag-rdf` gives the same commands.

PYTHON ?= python3
VENV ?= .venv
STAMPS ?= .stamps
STORE ?= graphrag-store
DOCS ?= examples/documents
Q ?= Who designed the Skell Tidal Station?
MODEL ?=
EMBEDDING_MODEL ?=

BIN := $(VENV)/bin
PROGRAM := $(BIN)/graphrag-rdf --store "$(STORE)"
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKS := deploy/locks
TOOLS := $(STAMPS)/tools
TRUSTGRAPH := 2.11.1
MSGRAPHRAG := 3.3.0
PYTHON_CLIENTS := SPARQLWrapper==2.0.0 rdflib==7.6.0 pandas==3.1.1 "prov[xml]==2.1.1" rocrate==0.16.0 nanopub==2.0.1
FRAMEWORKS := langchain-core==1.8.3 langchain-openai==1.7.4 llama-index-core==0.14.25
# Comunica 5 needs Node.js 22
NODE_CLIENTS := @comunica/query-sparql@4.5.0 sparql-http-client@3.1.0 @rdfjs/data-model@2 @zazuko/yasgui@4.6.2
MODELS := $(if $(MODEL),--model "$(MODEL)") $(if $(EMBEDDING_MODEL),--embedding-model "$(EMBEDDING_MODEL)")
# through the environment, so that quotes in a question are the question's
export QUESTION = $(Q)

.PHONY: help setup ingest ask serve test test-remote test-trustgraph test-msgraphrag test-schema test-clients lint format bench docs ontology messages lock sbom clean

help:
	@echo 'make setup | ingest DOCS=… | ask Q="…" | serve | test | test-remote | test-trustgraph | test-msgraphrag | test-schema | test-clients | lint | bench | docs | ontology | messages | lock | sbom | clean'

setup: $(STAMPS)/setup

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMPS)/setup: pyproject.toml $(if $(LOCKED),$(wildcard $(LOCKS)/*.txt)) $(BIN)/python
	@mkdir -p $(STAMPS)
ifdef LOCKED
	$(PIP) --require-hashes --requirement $(LOCKS)/build.txt --requirement $(LOCKS)/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
else
	$(PIP) --editable .
endif
	@touch $@

# what only tests and checks need
$(STAMPS)/dev: $(STAMPS)/setup
ifdef LOCKED
	$(PIP) --require-hashes --requirement $(LOCKS)/dev.txt
else
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")' > $(STAMPS)/dev.txt
	$(PIP) --requirement $(STAMPS)/dev.txt
endif
	@touch $@

ingest: setup
	$(PROGRAM) ingest $(MODELS) $(DOCS)

ask: setup
	@ls "$(STORE)"/oxigraph*/CURRENT > /dev/null 2>&1 || $(PROGRAM) ingest $(MODELS) $(DOCS)
	@$(PROGRAM) ask $(MODELS) "$$QUESTION"

serve: setup
	$(PROGRAM) serve

# WING=NAME: the tests of one wing; CORE=1: those of the core
test: $(STAMPS)/dev
	$(BIN)/python -m pytest $(if $(SLOW),-m "not trustgraph and not msgraphrag and not schematools and not clients") $(or $(TESTS),--numprocesses 2 --dist loadfile $(if $(WING),tests/wings/$(WING)) $(if $(CORE),--ignore tests/wings))

# the tests of the spine on every kind of store that is installed, or on KINDS=oxigraph,serve,jena
test-remote: $(STAMPS)/dev
	$(BIN)/python -m pytest --store-kind $(or $(KINDS),all) $(or $(TESTS),tests/remote tests/pipeline tests/ingest \
		tests/trace tests/exchange tests/checks tests/steps tests/wings)

# the commands of TrustGraph's own package, unmodified, against our server; they are installed on their own
test-trustgraph: $(STAMPS)/dev $(STAMPS)/trustgraph
	TRUSTGRAPH_BIN=$(STAMPS)/trustgraph-cli/bin $(BIN)/python -m pytest -m trustgraph tests/wings/trustgraph

$(STAMPS)/trustgraph: $(BIN)/python
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(STAMPS)/trustgraph-cli
	$(STAMPS)/trustgraph-cli/bin/python -m pip install --quiet --disable-pip-version-check \
		trustgraph-base==$(TRUSTGRAPH) trustgraph-cli==$(TRUSTGRAPH)
	@touch $@

# the commands of Microsoft's own package over tables that we export; it takes 1.3 GB, so CI does not install it
test-msgraphrag: $(STAMPS)/dev $(STAMPS)/msgraphrag
	MSGRAPHRAG_BIN=$(STAMPS)/msgraphrag-cli/bin $(BIN)/python -m pytest -m msgraphrag tests/wings/msgraphrag

$(STAMPS)/msgraphrag: $(BIN)/python
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(STAMPS)/msgraphrag-cli
	$(STAMPS)/msgraphrag-cli/bin/python -m pip install --quiet --disable-pip-version-check graphrag==$(MSGRAPHRAG)
	@touch $@

# readers of schemas, unmodified, against our server; they take 550 MB, so CI does not install them
test-schema: $(STAMPS)/dev $(STAMPS)/schematools
	SCHEMATOOLS_BIN=$(STAMPS)/schematools-env/bin $(BIN)/python -m pytest -m schematools tests/schematools

$(STAMPS)/schematools: $(BIN)/python
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(STAMPS)/schematools-env
	$(STAMPS)/schematools-env/bin/python -m pip install --quiet --disable-pip-version-check \
		langchain-community==0.4.2 sparql-llm==0.1.4
	@touch $@

# SPARQL clients, LangChain and LlamaIndex, unmodified: they need Node.js 20 and npm, take 1.2 GB, and CI does not install
# them. Tests of YASGUI need chromium, those of Jena's commands Debian's libapache-jena-java; else they are skipped.
test-clients: $(STAMPS)/dev $(STAMPS)/clients $(STAMPS)/frameworks
	CLIENTS=$(STAMPS) $(BIN)/python -m pytest -m clients -rs tests/clients

$(STAMPS)/clients: $(BIN)/python
	@mkdir -p $(STAMPS)/clients-node
	$(PYTHON) -m venv $(STAMPS)/clients-env
	$(STAMPS)/clients-env/bin/python -m pip install --quiet --disable-pip-version-check $(PYTHON_CLIENTS)
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(STAMPS)/clients-node $(NODE_CLIENTS)
	@touch $@

# our retrievers are in the process of the framework
$(STAMPS)/frameworks: pyproject.toml $(BIN)/python
	@mkdir -p $(STAMPS)
	$(PYTHON) -m venv $(STAMPS)/frameworks-env
	$(STAMPS)/frameworks-env/bin/python -m pip install --quiet --disable-pip-version-check --editable . $(FRAMEWORKS)
	@touch $@

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m benchmarks.run

# the documentation as a site, in site/; a dead link is an error
docs: $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'site/index.html'

$(STAMPS)/docs: pyproject.toml $(BIN)/python $(if $(LOCKED),$(STAMPS)/dev)
	@mkdir -p $(STAMPS)
ifndef LOCKED
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $(STAMPS)/docs.txt
	$(PIP) --requirement $(STAMPS)/docs.txt
endif
	@touch $@

# docs/vocabulary.md, ontology/trace-shapes.ttl and all other generated pages
ontology: setup
	$(BIN)/python docs/generate.py

# the messages of the program, collected into its catalogues, which are compiled; NEW=fr begins another one
messages: $(STAMPS)/dev
	$(BIN)/python docs/messages.py $(if $(NEW),--new "$(NEW)")

# packages with hashes, for each system and Python from 3.11 on: to build, to run (with the extra mcp), to test
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
lock: $(TOOLS)/done
	$(COMPILE) pyproject.toml --extra mcp -o $(LOCKS)/run.txt
	$(COMPILE) pyproject.toml --extra mcp --extra docs --group dev --constraint $(LOCKS)/run.txt -o $(LOCKS)/dev.txt
	$(COMPILE) --group build --constraint $(LOCKS)/dev.txt -o $(LOCKS)/build.txt

# what a container is made of, as CycloneDX
sbom: $(TOOLS)/done
	$(TOOLS)/bin/cyclonedx-py requirements $(LOCKS)/run.txt --pyproject pyproject.toml --output-reproducible -o sbom.json

$(TOOLS)/done:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' 'cyclonedx-bom>=7'
	@touch $@

# the store holds your work: it is never cleaned away
clean:
	rm -rf $(STAMPS) $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
	@echo 'The store $(STORE)/ is left alone; delete it yourself to begin anew.'
