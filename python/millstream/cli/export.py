"""`millstream export`: write a saved model for other languages."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import loaded
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.writers import check_place

__all__ = ["COMMAND"]

_TARGETS = ("onnx", "c")


def main(given: Namespace) -> int:
    """Write the file, and say what it needs as input."""
    from millstream.export.files import write_c, write_onnx
    from millstream.export.translation import translate

    if given.to not in _TARGETS:
        raise UsageError(f"--to must be onnx or c, got {given.to}")
    out = given.out or str(Path(given.file).with_suffix(f".{given.to}"))
    check_place(out, (f".{given.to}",), what="--out")
    exported = translate(loaded(given.file))
    {"onnx": write_onnx, "c": write_c}[given.to](exported, out)
    data = {
        "out": out,
        "role": exported.role,
        "learned": exported.learned,
        "numbers": exported.numbers,
        "strings": exported.strings,
        "classes": exported.labels,
        "file_size": Path(out).stat().st_size,
    }
    if given.json:
        show.say(show.as_json(data))
        return OK
    inputs = [show.counted(len(exported.numbers), "number")]
    inputs += [show.counted(len(exported.strings), "string")] if exported.strings else []
    show.say(f"{out}: {exported.role} of {' and '.join(inputs)}, {show.amount(Path(out).stat().st_size)}")
    return OK


COMMAND = Command(
    "export",
    "write a saved model as an ONNX file or as C",
    "An ONNX file runs in onnxruntime, from Python, Node, browsers, Java, C# and C++; a C file needs no\n"
    "library. Both predict in double precision as the model does, and do not learn. What cannot be exported is\n"
    "refused with a reason.",
    (
        Option(("file",), "saved model", value="FILE.ms", complete="file"),
        Option(("--to",), "onnx or c", value="FORMAT", default="onnx"),
        Option(("--out",), "file to write; by default next to the model", value="FILE", complete="file"),
        JSON,
    ),
    (
        ("for onnxruntime", "export late.ms --to onnx"),
        ("for a microcontroller", "export late.ms --to c --out late.c"),
    ),
    main,
)
