# Words for everyday work; `just` alone lists them.

python := env("PYTHON", "python")

_list:
    @just --list

# install for development, with everything the tests need
sync:
    {{python}} -m pip install -e ".[test]"

# linter, formatter, types
check:
    {{python}} -m ruff check .
    {{python}} -m ruff format --check .
    {{python}} -m mypy

# all tests; arguments go to pytest
test *args:
    {{python}} -m pytest {{args}}

# all tests with branch coverage of memento/
coverage:
    {{python}} -m pytest --cov --cov-branch --cov-report=term-missing:skip-covered

# write the generated reference pages anew, and run every example in the documentation
docs:
    {{python}} scripts/reference.py
    {{python}} -m pytest README.md docs memento tests/stories/test_docs.py

# the documentation as a site, in build/site; needs the extra `docs`
site:
    {{python}} -m mkdocs build --strict

# both type checkers on a program that names all that is public, against the installed wheel
types:
    {{python}} scripts/check_extras.py types

# 10,000 random operations on LangGraph's own store and on memento's, side by side
exact:
    EXACT_OPERATIONS=10000 {{python}} -m pytest tests/integrations/for_langgraph/test_langgraph_exact.py

# install each extra alone in a fresh environment and use it; arguments go to the script
extras *args:
    {{python}} scripts/check_extras.py {{args}}

# every promise and its null control; `just trust --full` writes TRUST.md
trust *args:
    {{python}} benchmarks/trust.py {{args}}

# the quick benchmarks: kill -9, then speed
bench:
    {{python}} benchmarks/durability.py --rounds 30
    {{python}} benchmarks/speed.py

# memento beside other memories, and the page about it; files are LoCoMo, BEAM or LongMemEval
peers *files:
    {{python}} benchmarks/peers.py {{files}} --page docs/explanation
