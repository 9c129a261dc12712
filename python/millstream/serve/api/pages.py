"""The dashboard: static files of the package. They contain no data; the page reads the live feed with its
token."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from millstream.serve.api.operation import Operation
from millstream.serve.requests import Call, Problem, Reply

__all__ = ["OPERATIONS"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def _pages() -> dict[str, tuple[bytes, str]]:
    """All files by name. A request is looked up here and never becomes a path."""
    found = {}
    for entry in files("millstream.serve").joinpath("dashboard").iterdir():
        suffix = "." + entry.name.rpartition(".")[2]
        if suffix in _TYPES:
            found[entry.name] = (entry.read_bytes(), _TYPES[suffix])
    return found


def index(call: Call) -> Reply:
    """The dashboard."""
    return Reply(200, *_pages()["index.html"])


def page_file(call: Call) -> Reply:
    """A file of the dashboard."""
    found = _pages().get(call.values["file"])
    if found is None:
        raise Problem(404, "not-found", f"no file {call.values['file'][:130]!r} of the dashboard")
    return Reply(200, *found)


OPERATIONS = (
    Operation("GET", "/", index, None, "The dashboard"),
    Operation("GET", "/dashboard/{file}", page_file, None, "A file of the dashboard", {404: "unknown file"}),
)
