"""What all tests rely on."""

from __future__ import annotations

import signal

# In the background of a shell Ctrl-C is ignored, and Python then leaves it so; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)
