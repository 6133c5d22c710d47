"""The harnesses are modules of this folder; what they return is defined beside their runner."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
