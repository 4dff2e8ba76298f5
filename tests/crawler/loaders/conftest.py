"""Tests reach no network, and Haystack would report what it runs."""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
