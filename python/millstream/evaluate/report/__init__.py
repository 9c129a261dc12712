"""Self-contained HTML report of an evaluation: no scripts, fonts or network; for screen and print."""

from __future__ import annotations

from millstream.evaluate.report.notebook import Report, summary
from millstream.evaluate.report.page import fragment, page, write

__all__ = ["Report", "fragment", "page", "summary", "write"]
