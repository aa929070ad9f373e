.PHONY: check types lint

check: lint types
	pytest

lint:
	ruff format --check . && ruff check .

# mypy cannot see a package through setuptools' package-dir, so it is shown the three folders as one tree of links.
types:
	rm -rf build/types && mkdir -p build/types/minibroker
	ln -s $(CURDIR)/broker/* build/types/minibroker/
	ln -s $(CURDIR)/storage $(CURDIR)/protocol build/types/minibroker/
	MYPYPATH=build/types mypy -p minibroker -p tests
