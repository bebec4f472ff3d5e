# Each target stands alone on a fresh machine: it makes the environment first if it is not there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup browser demo test test-fast lint bench bench-scale lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml $(wildcard src/dpcate/kernels/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit("dpcate needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(READY)

demo: $(READY)
	$(BIN)/dpcate demo

# The report is tested in a real browser. Where this may install Debian's it does; else those tests skip and say so.
browser:
	@command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null 2>&1 && \
		{ apt-get install -y --no-install-recommends chromium || \
		{ apt-get update && apt-get install -y --no-install-recommends chromium; }; } >/dev/null 2>&1; } || \
		echo "no chromium here: the tests of the report in a browser will be skipped"

test: $(READY) browser
	$(BIN)/python -m pytest -n 2 --durations=10

test-fast: $(READY)
	$(BIN)/python -m pytest -n 2 -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The benchmarks need more libraries than the tests (EconML and DoubleML as rivals). DPCATE_GOTV names the GOTV file, if you have it.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-bench.lock
	$(BIN)/python -m benchmarks.run

# Fifty million rows, Dask and Spark: needs about 6 GB in the temporary folder, Java, and a quiet quarter of an hour.
bench-scale: $(READY)
	$(BIN)/python -m benchmarks.run scale

# Renew the locked versions from pyproject.toml; commit the result.
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile --universal --python-version 3.11 --extra interpret --extra reproduce \
		--extra dask --extra spark --extra postgres --extra demo --extra test --extra lint \
		--no-emit-index-url --no-annotate --no-header --output-file requirements.lock pyproject.toml
	$(VENV)-lock/bin/uv pip compile --universal --python-version 3.11 --extra interpret --extra bench \
		--constraint requirements.lock --no-emit-index-url --no-annotate --no-header \
		--output-file requirements-bench.lock pyproject.toml
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV)
