"""Limits for the whole suite."""

from __future__ import annotations

import resource

# A test that runs away in memory fails, rather than starve the machine.
_LIMIT = 12 << 30
resource.setrlimit(resource.RLIMIT_AS, (_LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))
