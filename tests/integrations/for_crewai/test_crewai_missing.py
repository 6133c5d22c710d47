"""Without CrewAI the adapter says what to install."""

import os
import subprocess
import sys


def test_missing_extra_is_named():
    """Using it where CrewAI is absent raises MissingExtra with the install line."""
    script = (
        "import sys; sys.modules['crewai'] = None\n"
        "from memento.errors import MissingExtra\n"
        "import memento_crewai\n"
        "try:\n    memento_crewai.MementoCrewMemory\n"
        "except MissingExtra as error:\n    print(error.extra, error)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.stdout.startswith("crewai crewai"), ran.stderr
    assert "pip install 'agent-memento[crewai]'" in ran.stdout


def imported(environment):
    """Import the package in a new process; return the telemetry switch, and whether CrewAI came."""
    script = (
        "import os, sys, memento_crewai\n"
        "print(os.environ['CREWAI_DISABLE_TELEMETRY'], 'crewai' in sys.modules)"
    )
    env = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name}
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=env | environment,
    )
    return ran.stdout.split()


def test_telemetry_is_off_before_crewai_is_imported():
    """Importing the package switches CrewAI's telemetry off, and does not load CrewAI yet."""
    assert imported({}) == ["true", "False"]


def test_a_choice_about_telemetry_is_kept():
    """A value that the user set stays as it is."""
    assert imported({"CREWAI_DISABLE_TELEMETRY": "false"}) == ["false", "False"]
