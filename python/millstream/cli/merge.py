"""`millstream merge`: merge saved models of parts of a stream."""

from __future__ import annotations

from argparse import Namespace

from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import loaded
from millstream.cli.options import JSON, OK, Command, Option
from millstream.cli.writers import check_place
from millstream.errors import InvalidType, MillstreamError

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Merge the files in order, and write the result only if all of them could be merged."""
    check_place(given.out, (".ms",), what="--out")
    if not given.file:
        raise UsageError("no models to merge: give the files of saved models")
    if given.out is None:
        raise UsageError("no file for the result: give --out FILE.ms")
    merged = loaded(given.file[0])
    base = None if given.base is None else loaded(given.base)
    for path in given.file[1:]:
        other = loaded(path)
        if not hasattr(merged, "merge"):
            raise InvalidType(f"{given.file[0]}: a {type(merged).__name__} cannot be merged")
        try:
            merged.merge(other, base)
        except MillstreamError as error:
            raise type(error)(f"{path}: {error}") from None
    result = merged.fork() if given.fork else merged
    result.save(given.out)
    learned = getattr(result, "learned", getattr(result, "updates", None))
    data = {"out": given.out, "merged": len(given.file), "learned": learned, "exactness": result.MERGE}
    if given.json:
        show.say(show.as_json(data))
        return OK
    examples = "" if learned is None else f", {show.counted(learned, 'example')}"
    show.say(f"{given.out}: {show.counted(len(given.file), 'file')} merged ({result.MERGE}){examples}")
    return OK


COMMAND = Command(
    "merge",
    "merge saved models of parts of a stream into one",
    "All files must hold the same model with equal parameters. Features and labels are matched by name. If the\n"
    "models continued a common file written with --fork, give it as --base, so that it counts once. What\n"
    "cannot be merged is refused with a reason; millstream list shows how exactly each component can be merged.",
    (
        Option(("file",), "saved models", value="FILE.ms", many=True, optional=True, complete="file"),
        Option(("--out",), "file of the merged model", value="FILE.ms", complete="file"),
        Option(("--base",), "file that all models continued", value="FILE.ms", complete="file"),
        Option(("--fork",), "write the result as the base of models that continue it"),
        JSON,
    ),
    (
        ("merge two halves", "merge first.ms second.ms --out both.ms"),
        ("a new base for workers", "merge model.ms --fork --out base.ms"),
        ("what two workers learned since", "merge one.ms two.ms --base base.ms --fork --out base-2.ms"),
    ),
    main,
)
