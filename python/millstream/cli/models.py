"""MODEL of a command line: a description, a saved file, or a model chosen by the target."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from millstream import notation
from millstream.cli.errors import UsageError
from millstream.cli.options import Option
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.registry import load
from millstream.roles import EVALUATED, FORECASTER, role_of

if TYPE_CHECKING:
    from millstream.cli.observed import ObservedStream
    from millstream.stream import Stream

__all__ = ["MODEL", "is_saved", "loaded", "model_of", "named", "no_rows", "predictor", "suitable", "text_columns"]

MODEL = Option(
    ("--model", "-m"),
    'model, such as "StandardScaler | LogisticRegression(l2=0.001)"; see millstream list',
    value="MODEL",
    complete="part",
    group="model",
)

#: Integer targets with at most this many distinct values are classes.
_MOST_CLASSES = 20


def model_of(text: str) -> Any:
    """The model of a description or of a file."""
    if is_saved(text):
        return loaded(text)
    return notation.parse(text, role=EVALUATED)


def is_saved(text: str | None) -> bool:
    """Whether a string is the file name of a saved model."""
    return text is not None and re.fullmatch(r"[^()|+]+\.ms", text) is not None


def named(text: str) -> tuple[str | None, str]:
    """The name and the description in `name=description`; the name is optional."""
    found = re.fullmatch(r"\s*([^()=|+'\"\[{]+?)\s*=\s*(.+)", text, re.DOTALL)
    return (found[1], found[2]) if found else (None, text)


def loaded(path: str) -> Any:
    """A saved model."""
    try:
        model = load(path)
    except InvalidState as error:
        raise InvalidValue(f"{path}: {str(error).removeprefix('millstream: ').removeprefix(f'{path} ')}") from None
    return model


def predictor(path: str) -> Any:
    """A saved model that predicts."""
    model = loaded(path)
    if getattr(model, "role", None) not in EVALUATED:
        hint = "; see millstream forecast" if role_of(model) is FORECASTER else ""
        raise InvalidType(f"{path}: a {getattr(model, 'role', 'component')} does not predict{hint}")
    return model


def no_rows(given: Namespace, stream: Stream) -> str:
    """The message for a source without rows. If all rows are in quarantine, they are written."""
    from millstream.cli.contracts import violations_of, write_quarantine

    if violations := violations_of(stream, given):
        write_quarantine(stream, given, given.quiet if hasattr(given, "quiet") else given.json)
        return f"{given.source}: no row follows the contract {given.contract}: {'; '.join(violations)}"
    aside = getattr(stream, "skipped", None)
    if aside is not None and aside.count:
        return f"{given.source}: no row could be read; the first error: {aside.reasons[0]}"
    if given.skip:
        return f"{given.source}: there are no rows after the first {given.skip:,}, which --skip skips"
    return f"{given.source}: there are no rows"


def suitable(stream: ObservedStream, given: Namespace) -> tuple[Any, str]:
    """A model for the target of a stream, and why it was chosen."""
    from millstream.stream import Sparse

    first = stream.first()
    if first is None:
        raise InvalidValue(no_rows(given, stream))
    if first.y is None:
        raise UsageError("no target to choose a model by: pass --model")
    text, why = _suitable_for(first.y, isinstance(first.X, Sparse), text_columns(stream))
    return notation.parse(text), why


def text_columns(stream: ObservedStream) -> list[str]:
    """The columns declared as texts."""
    profile = stream.profile
    return [] if profile is None else [name for name, each in profile.columns.items() if each.stated == "text"]


def _suitable_for(y: Any, sparse: bool, texts: list[str]) -> tuple[str, str]:
    from millstream import _frames
    from millstream.cli.observed import distinct

    before = "" if sparse else "StandardScaler | "
    if texts:
        # The columns of two hashers would be the same.
        step = "HashingVectorizer" if len(texts) == 1 else "TFIDF"
        words = " + ".join(f"{step}(on={name!r})" for name in texts)
        before = f"({words} + (Drop({texts!r}) | StandardScaler)) | "
    # Most of many sparse features are rare and need larger steps.
    steps = "(optimizer=AdaGrad)" if sparse or texts else ""
    values = distinct(y, _MOST_CLASSES + 1)
    column = _frames.targets(y)
    kind = getattr(column, "dtype", None) and column.dtype.kind
    numbers = kind in ("f", "i", "u")
    whole = numbers and all(float(value).is_integer() for value in values)
    if numbers and (not whole or len(values) > (2 if kind == "f" else _MOST_CLASSES)):
        return f"{before}LinearRegression{steps}", "the target is a number"
    if len(values) <= 2:
        return f"{before}LogisticRegression{steps}", "the target has two classes"
    return f"{before}SoftmaxRegression{steps}", f"the target has {len(values)} classes or more"
