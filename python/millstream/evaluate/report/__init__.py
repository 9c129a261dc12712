"""A page about an evaluation that needs nothing else: no scripts, no fonts, no network; for screen and paper."""

from __future__ import annotations

from millstream.evaluate.report.page import fragment, page, write

__all__ = ["fragment", "page", "write"]
