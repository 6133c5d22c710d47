"""Run the command line as ``python -m memento.cli``."""

import sys

from memento.cli import main

if __name__ == "__main__":
    sys.exit(main())
