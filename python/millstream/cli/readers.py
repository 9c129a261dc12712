"""The options of the reader of a file, and the message for an unsupported one."""

from __future__ import annotations

import inspect

from millstream._echo import quoted
from millstream.registry import nearest

__all__ = ["LABEL", "LABELLED", "not_taken", "reader_of"]

#: The target of files whose lines start with the label, and the readers of such files.
LABEL = "label"
LABELLED = ("read_vw", "read_libsvm")

#: Options of readers that are options of the command line.
_OWN = ("target", "weight", "time", "label_time", "drop", "types", "on_error", "follow")


def reader_of(source: str, format: str | None) -> str:  # noqa: A002
    """The name of the reader of a file."""
    from millstream.stream import formats

    if format is None and formats.is_address(source):
        return formats.MESSAGES[source.partition(":")[0]]
    name = formats._found(source)[0] if format is None else format
    name = formats._ALIASES.get(name, name)
    return formats.FORMATS[name][0] if name in formats.FORMATS else ""


def not_taken(name: str, reader: str) -> str:
    """The message for an option that a reader does not support."""
    from millstream import stream
    from millstream.stream.formats import MESSAGES

    if name == "target" and reader in LABELLED:
        return f"its target is the {LABEL} at the start of each line; omit --target"
    if name in _OWN:
        return f"its reader does not support --{name.replace('_', '-')}"
    parameters = inspect.signature(getattr(stream, reader)).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name not in _OWN]
    if reader in MESSAGES.values():
        from millstream.stream.message_source import MessageOptions
        from millstream.stream.options import TableOptions

        known += [each for each in MessageOptions.__annotations__ if each not in TableOptions.__annotations__]
    near = nearest(name, known) or "."
    return f"{reader} has no option {quoted(name)}{near} Its options are {', '.join(known)}"
