"""Before Haystack is imported: it tells nobody."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
