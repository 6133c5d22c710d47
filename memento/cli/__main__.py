"""``python -m memento.cli`` is the command, too."""

import sys

from memento.cli import main

if __name__ == "__main__":
    sys.exit(main())
