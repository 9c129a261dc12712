"""Examples as lines of Vowpal Wabbit, libsvm and ARFF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

from millstream import _frames
from millstream._echo import quoted
from millstream.errors import InvalidType
from millstream.stream.chunk import Chunk, as_list

__all__ = ["LINES"]

Write = Callable[[Chunk], None]


def _labels(chunk: Chunk) -> list[Any]:
    return [None] * len(chunk) if chunk.y is None else as_list(chunk.y)


def _shown(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


def vw(file: TextIO, target: str) -> Write:
    """`1 |x a:0.5 color=red`; True is 1 and False -1; string classes are numbered from 1."""
    codes: dict[Any, int] = {}

    def label(y: Any) -> str:
        if y is None:
            return ""
        if isinstance(y, bool):
            return "1" if y else "-1"
        if isinstance(y, (int, float)):
            return _shown(y)
        return str(codes.setdefault(y, len(codes) + 1))

    def write(chunk: Chunk) -> None:
        for x, y in zip(_frames.dicts(chunk.X), _labels(chunk), strict=True):
            words = []
            for name, value in x.items():
                name = _word(str(name))
                if isinstance(value, str):
                    words.append(f"{name}={_word(value)}")
                elif value is not None and value == value:
                    words.append(f"{name}:{_shown(value)}")
            file.write(f"{label(y)} | {' '.join(words)}\n")

    return write


def _word(text: str) -> str:
    return "".join("_" if letter in " \t\n|:" else letter for letter in text)


def libsvm(file: TextIO, target: str) -> Write:
    """`1 3:0.5 7:2`: features are numbered from 1 in order of appearance."""
    places: dict[Any, int] = {}

    def write(chunk: Chunk) -> None:
        for x, y in zip(_frames.dicts(chunk.X), _labels(chunk), strict=True):
            if isinstance(y, str) or y is None:
                raise InvalidType(f"libsvm: a label must be a number, got {quoted(y)}")
            pairs = []
            for name, value in x.items():
                if isinstance(value, str):
                    raise InvalidType(
                        f"libsvm: features must be numbers, got {quoted(value)} in {quoted(name)}; use --drop"
                    )
                place = places.setdefault(name, len(places) + 1)
                if value is not None and value == value and value != 0:
                    pairs.append((place, value))
            body = " ".join(f"{place}:{_shown(value)}" for place, value in sorted(pairs))
            file.write(f"{_shown(y)} {body}".rstrip() + "\n")

    return write


def arff(file: TextIO, target: str) -> Write:
    """Weka's format. The first rows determine which columns are numeric; others are strings."""
    kinds: dict[str, bool] = {}

    def head(rows: list[dict[Any, Any]], ys: list[Any]) -> None:
        file.write("@relation millstream\n\n")
        for row in rows:
            for name, value in row.items():
                if value is not None and kinds.get(str(name), True):
                    kinds[str(name)] = not isinstance(value, str)
        for name, numeric in kinds.items():
            file.write(f"@attribute {_quoted(name)} {'numeric' if numeric else 'string'}\n")
        classes = list(dict.fromkeys(y for y in ys if y is not None))
        numeric = not classes or all(isinstance(y, float) for y in classes) or len(classes) > 100
        listed = ",".join(_quoted(str(y)) for y in sorted(classes, key=str))
        file.write(f"@attribute {_quoted(target)} {'numeric' if numeric else '{' + listed + '}'}\n\n@data\n")

    def write(chunk: Chunk) -> None:
        rows, ys = list(_frames.dicts(chunk.X)), _labels(chunk)
        if not kinds:
            head(rows, ys)
        for row, y in zip(rows, ys, strict=True):
            named = {str(name): value for name, value in row.items()}
            file.write(",".join(_cell(value) for value in (*(named.get(name) for name in kinds), y)) + "\n")

    return write


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "?"
    return _quoted(value) if isinstance(value, str) else str(value) if isinstance(value, bool) else _shown(value)


def _quoted(text: str) -> str:
    if text and all(letter.isalnum() or letter in "_.-" for letter in text):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


#: For each format, a function of a file and the name of the target that returns a writer.
LINES: dict[str, Callable[[TextIO, str], Write]] = {".arff": arff, ".vw": vw, ".libsvm": libsvm}
