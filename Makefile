# Everything runs in the active Python's environment, or in .venv where that lacks something: tools/environment.py.
PYTHON ?= python3
RUN := $(PYTHON) tools/environment.py

.PHONY: help build test wheel release bench bench-compare tune ladder format lint docs notebook sanitize clean
.NOTPARALLEL:

help:
	@echo "make build      build the native library for the active torch (TORCH_REDUCE_CUDA=0: without CUDA)"
	@echo "make test       build, and run the tests; TEST_ARGS='-k rows' goes to pytest"
	@echo "make wheel      build dist/: a wheel for the active torch, and a source distribution"
	@echo "make release    build dist/ as a release has it, and check it; RELEASE_ARGS=cpu: that part alone, or sdist or cuda"
	@echo "make bench      build, and time the operators against torch.sum; BENCH_ARGS goes to python -m benchmarks"
	@echo "make bench-compare BASE=<commit>   time this tree's library against a commit's; COMPARE_ARGS='--pairs 9'"
	@echo "make tune       build, measure this GPU, and print the tuning to commit; TUNE_ARGS=columns_tile: that value alone"
	@echo "make ladder     build, and climb the teaching kernels one by one; LADDER_ARGS goes to python -m benchmarks.ladder"
	@echo "make format     rewrite the sources with clang-format and ruff"
	@echo "make lint       check them and the types, changing nothing"
	@echo "make docs       build the documents as a site in build/site; a warning is an error"
	@echo "make notebook   build, and run examples/python/tour.ipynb, which keeps what it prints"
	@echo "make sanitize   run tests under ASan and UBSan, and on a GPU under compute-sanitizer"
	@echo "make clean      remove what was built, and .venv"

build:
	@$(RUN) tools/native_build.py

test: build
	@$(RUN) --tests -m pytest tests -n auto --dist worksteal $(TEST_ARGS)

wheel:
	@$(RUN) tools/make_wheel.py $(WHEEL_ARGS)

release:
	@$(RUN) tools/make_release.py $(RELEASE_ARGS)

bench: build
	@$(RUN) -m benchmarks $(BENCH_ARGS)

ladder: build
	@$(RUN) tools/native_build.py --target ladder
	@$(RUN) -m benchmarks.ladder $(LADDER_ARGS)

bench-compare: build
	@$(RUN) -m benchmarks.compare $(COMPARE_ARGS) $(BASE)

tune: build
	@$(RUN) -m benchmarks.tune $(TUNE_ARGS)

format:
	@$(RUN) --lint tools/format.py

lint:
	@$(RUN) --lint tools/format.py --check

docs:  # not --quiet: --strict counts the warnings that are shown
	@NO_MKDOCS_2_WARNING=1 $(RUN) --docs -m mkdocs build --strict

notebook: build
	@$(RUN) --tests tools/run_notebook.py

sanitize:
	@$(RUN) --tests tools/sanitize.py $(TEST_ARGS)

clean:
	rm -rf build dist .venv *.egg-info torch_reduce/lib torch_reduce/include
	find . -path ./.git -prune -o -name __pycache__ -type d -print | xargs rm -rf
