"""`millstream events`: show the log of a data folder, even while its server is running."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from millstream._echo import plain
from millstream.cli import show
from millstream.cli.options import JSON, OK, Command, Option, count

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.serve.disk import Disk
    from millstream.serve.folder import DataFolder
    from millstream.serve.reader import RecordReader
    from millstream.serve.records import Kind
    from millstream.serve.selection import selected

    folder = DataFolder(given.data, read_only=True)
    reader = RecordReader(folder.events, Disk())
    bounds = reader.bounds()
    for record in selected(reader, first=given.first, count=given.last, kind=given.kind, id=given.id):
        kind = Kind(record.kind).name.lower()
        body = record.body if isinstance(record.body, str) else f"<{len(record.body)} bytes>"
        if given.json:
            data: dict[str, Any] = {
                "seq": record.seq,
                "kind": kind,
                "time": record.time / 1000,
                "stream": record.stream,
                "id": record.id,
                "body": json.loads(record.body) if isinstance(record.body, str) and record.body else None,
            }
            show.say(json.dumps(data, ensure_ascii=False))
        else:
            show.say(
                f"{record.seq:>9}  {_time(record.time)}  {kind:<6}  {record.id or '':<36}  {plain(body, 100)}"
            )
    if not given.json:
        gaps = f", without {show.counted(len(bounds.gaps), 'lost range')}" if bounds.gaps else ""
        show.remark(f"records {bounds.first} to {bounds.last}{gaps}", False)
    return OK


def _time(milliseconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


COMMAND = Command(
    "events",
    "show the log of a data folder",
    "Reads and checks the records of a server's log, even while the server is running. The log is an SQLite\n"
    "database with a documented schema (docs/serving.md), so it can also be queried with SQL.",
    (
        Option(("data",), "data folder of millstream serve", value="FOLDER", complete="file"),
        Option(("--first",), "number of the first record", value="SEQ", kind=count),
        Option(("--last",), "number of records to show; 0 shows all", value="COUNT", kind=count, default=20),
        Option(
            ("--kind",),
            "kind of records",
            choices=("event", "label", "learn", "events", "labels", "tick", "admin"),
            value="KIND",
        ),
        Option(("--id",), "id of the event", value="ID"),
        JSON,
    ),
    (
        ("the newest records", "events ./data"),
        ("all labels as JSON lines", "events ./data --kind label --last 0 --json"),
    ),
    main,
)
