"""Vowpal Wabbit's text format."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.counts import count
from millstream.stream.sparse_text import SparseText

__all__ = ["VowpalWabbit", "hash_feature", "read_vw"]


class VowpalWabbit(SparseText):
    """A file in Vowpal Wabbit's text format; created by `read_vw`."""

    maker = "stream.read_vw"

    lines_apart = True

    def __init__(
        self,
        path: Any,
        *,
        bits: int = 18,
        constant: bool = True,
        labels: str = "auto",
        on_error: str = "raise",
        follow: bool = False,
        idle: float | None = None,
    ) -> None:
        if not isinstance(constant, (bool, np.bool_)):
            raise InvalidValue(f"stream.read_vw: constant must be True or False, got {quoted(constant)}")
        self.bits, self.constant = count("read_vw: bits", bits, 1, 28), bool(constant)
        super().__init__(path, labels, on_error, follow, idle)

    def reader(self, inside: bool = False) -> _core.TextReader:
        return _core.TextReader.vowpal_wabbit(self.bits, self.constant, self.on_error == "skip", inside)


def read_vw(
    path: Any,
    *,
    bits: int = 18,
    constant: bool = True,
    labels: str = "auto",
    on_error: str = "raise",
    follow: bool = False,
    idle: float | None = None,
) -> VowpalWabbit:
    """Read a file in Vowpal Wabbit's text format.

    A line is `label importance 'tag|namespace:scale feature:value …`, with any number of namespaces; everything
    except the bar and the features is optional. Features are hashed exactly as in VW. If two features of a line
    share a column, their values are added.

    A word that touches the bar is a tag, so `1|words` has the tag "1" and no label: put a space before the bar.
    `read_vw(path).tagged()` yields each chunk with the tags of its rows; see `stream.SparseText`. An example
    without a label has the label NaN: models predict it but refuse to learn it. `evaluate.prequential` stops
    there, or skips it with `on_error="skip"`.

    Parameters
    ----------
    path
        A file, which may be compressed with gzip or zstd; `"-"` for standard input; or an open file.
    bits
        Base-2 logarithm of the number of columns, as VW's `-b`. Linear models and `naive_bayes.GaussianNB` process
        only the columns of a row; trees and forests process all, so use 10 to 12 bits for these. Use the same
        number for a saved model as for its training: another number moves features to other columns.
    constant
        Whether each row has VW's constant feature. Linear models have an intercept with its own learning rate: set
        `intercept=False` with the constant to match VW.
    labels
        `"auto"`: integers become ints, which are classes to a classifier and numbers to a regressor; `"class"`:
        a fraction is an error; `"number"`: always floats.
    on_error
        `"raise"`: an unreadable line ends the stream with an error that names its line and column, after the rows
        before it; `"skip"`: it is skipped and counted in `skipped`.
    follow
        Whether to wait at the end of the file for more lines, like `tail -f`.
    idle
        With `follow`, number of seconds without a new line after which the stream ends; None for never.

    Examples
    --------
    >>> import io
    >>> from millstream import evaluate, linear_model, optim, stream
    >>> text = "1 |words win money now\\n-1 |words lunch at noon\\n" * 50
    >>> mails = stream.read_vw(io.StringIO(text), bits=22)
    >>> model = linear_model.LogisticRegression(optimizer=optim.AdaGrad(), intercept=False)
    >>> result = evaluate.prequential(model, mails)
    >>> result.model.predict_many(next(mails.chunks()).X)[:2].tolist()
    [1, -1]

    Tags identify lines:

    >>> lines = stream.read_vw(io.StringIO("1 'first |words win\\n'second |words lunch\\n"))
    >>> [(chunk.y.tolist(), tags) for chunk, tags in lines.tagged()]
    [([1.0, nan], ['first', 'second'])]
    """
    return VowpalWabbit(
        path, bits=bits, constant=constant, labels=labels, on_error=on_error, follow=follow, idle=idle
    )


def hash_feature(name: str, namespace: str = "", bits: int = 18) -> int:
    """The column of a feature in `read_vw`, for looking up its weight.

    >>> from millstream import stream
    >>> stream.hash_feature("money", "words")
    9355
    """
    seed = _core.hash_feature(namespace.encode(), 0) if namespace else 0
    return _core.hash_feature(name.encode(), seed) & ((1 << bits) - 1)
