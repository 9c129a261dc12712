"""Self-contained HTML report of an evaluation: no scripts, fonts or network; for screen and print."""

from __future__ import annotations

from millstream.evaluate.report.page import fragment, page, write

__all__ = ["fragment", "page", "write"]
