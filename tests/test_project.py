"""What stands around the code: the workflow, the site, the metadata."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent
LOGGER = re.compile(r"getLogger\(\"([^\"]+)\"\)")
VERBS = {"add", "retrieve", "observe", "sleep", "flush"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_workflow_runs_the_commands_of_the_readme():
    """On Linux and macOS, with each Python from the oldest that is supported."""
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    runs = [step["run"] for step in jobs["test"]["steps"] if "if" not in step and "run" in step]
    readme = (ROOT / "README.md").read_text()
    assert len(runs) == 2
    assert all(f"    {run}\n" in readme for run in runs)
    matrix = jobs["test"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["system"]} == {"ubuntu", "macos"}
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]


def test_each_version_of_the_site_generator_is_the_same():
    """The extra, the workflow, and the run before a release install one range."""
    (wanted,) = PROJECT["optional-dependencies"]["docs"]
    for file in (".ci/run", ".github/workflows/ci.yml", "CONTRIBUTING.md"):
        assert f'"{wanted}"' in (ROOT / file).read_text()


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("README.md", "[s](../SECURITY.md#a)", "[s](https://host/blob/main/SECURITY.md#a)"),
        ("how-to/x.md", "[e](../../examples/)", "[e](https://host/blob/main/examples)"),
        ("how-to/x.md", "[t](../reference/api.md)", "[t](../reference/api.md)"),
    ],
)
def test_a_link_that_leaves_the_documentation_leads_to_the_repository(page, text, said):
    """Those to other pages stay as they are, so that the site's own check sees them."""
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "scripts/site_hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    where = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    config = SimpleNamespace(repo_url="https://host")
    assert hooks.on_page_markdown(text, page=where, config=config, files=None) == said


def test_the_page_on_the_log_names_every_logger():
    """And none that there is not."""
    page = (ROOT / "docs/how-to/log-and-trace.md").read_text()
    files = [*(ROOT / "memento").rglob("*.py"), *(ROOT / "integrations").rglob("*.py")]
    made = {name for file in files for name in LOGGER.findall(file.read_text())}
    rows = [line for line in page.splitlines() if line.startswith("| `memento")]
    told = {name for row in rows for name in re.findall(r"`(memento[\w.]*)`", row.split("|")[1])}
    spans = {name for name in told if name.rpartition(".")[2] in VERBS}
    assert told - spans == made
    assert spans == {f"memento.{verb}" for verb in VERBS}
