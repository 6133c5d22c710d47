"""Before any framework is imported: no telemetry, no key, no hub, and a data folder of our own."""

import atexit
import os
import shutil
import tempfile

os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_DISABLE_TRACKING"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
os.environ["CREWAI_STORAGE_DIR"] = "memento-tests"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="memento-crewai-")
os.environ.pop("OPENAI_API_KEY", None)
atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)
