"""`millstream replay`: compute the state of a server from its log, offline."""

from __future__ import annotations

import hashlib
from argparse import Namespace
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream._files import write_whole
from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.options import JSON, OK, Command, Option, count, positive

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.serve.engine import Engine

    engine = Engine(
        given.data,
        read_only=True,
        until=given.until,
        from_start=given.from_start,
        skip_records=given.skip_record or (),
    )
    state = engine.state
    if given.model is not None and given.model not in state.models:
        known = ", ".join(state.models) or "none"
        raise UsageError(f"no model named {quoted(given.model)} at record {state.seq}; models: {known}")
    found: list[dict[str, Any]] = []
    for name, served in state.models.items():
        if given.model not in (None, name):
            continue
        data = served.model.to_bytes() if served.is_native else b""
        found.append(
            {
                "model": name,
                "seq": served.seq,
                "learned": served.learned,
                "metrics": served.figures(),
                "sha256": hashlib.sha256(data).hexdigest() if data else None,
            }
        )
        if given.save is not None:
            if given.model is None and len(state.models) > 1:
                raise UsageError("--save needs --model: the folder has several models")
            write_whole(Path(given.save), data)
    engine.stop()
    if given.json:
        show.say(show.as_json({"seq": state.seq, "replayed": engine.recovery.replayed, "models": found}))
        return OK
    for each in found:
        figures = ", ".join(
            f"{name} {show.number(value)}" for name, value in each["metrics"].items() if value is not None
        )
        show.say(
            f"{each['model']}: {show.counted(each['learned'], 'example')} learned; {figures or 'not scored yet'}"
        )
        show.say(f"  sha256 {each['sha256']}")
    show.remark(
        f"record {state.seq}: {show.counted(engine.recovery.replayed, 'record')} replayed "
        f"in {engine.recovery.seconds:.2f} s",
        False,
    )
    return OK


COMMAND = Command(
    "replay",
    "compute the state of a server from its log, offline",
    "Replays the log of a data folder up to a record, and prints or saves the models, which are\n"
    "bit-identical to those of the server at that record. The folder is not changed; its server may be running.",
    (
        Option(("data",), "data folder of millstream serve", value="FOLDER", complete="file"),
        Option(("--until",), "number of the last record to apply", value="SEQ", kind=count),
        Option(("--model",), "name of the model to save", value="NAME"),
        Option(("--save",), "file for the model", value="FILE", complete="file"),
        Option(("--from-start",), "ignore snapshots and replay all records"),
        Option(
            ("--skip-record",),
            "do not learn from a record; may be repeated",
            value="SEQ",
            kind=positive,
            many=True,
        ),
        JSON,
    ),
    (
        ("the current state", "replay ./data"),
        ("a model as it was at record 1000", "replay ./data --until 1000 --model late --save late_1000.ms"),
    ),
    main,
)
