"""``python -m memento`` is the command ``memento``."""

import sys

from memento.cli import main

if __name__ == "__main__":
    sys.exit(main())
