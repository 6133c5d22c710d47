"""Without CrewAI the adapter says what to install."""

import subprocess
import sys


def test_missing_extra_is_named():
    """Importing it where CrewAI is absent raises MissingExtra with the install line."""
    script = (
        "import sys; sys.modules['crewai'] = None\n"
        "from memento.errors import MissingExtra\n"
        "try:\n    import memento_crewai\n"
        "except MissingExtra as error:\n    print(error.extra, error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.stdout.startswith("crewai crewai"), ran.stderr
    assert "pip install 'agent-memento[crewai]'" in ran.stdout
