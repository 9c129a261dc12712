"""The text format of libsvm and SVMlight."""

from __future__ import annotations

from typing import Any

from millstream import _core
from millstream._echo import quoted
from millstream.errors import InvalidValue
from millstream.stream.counts import count
from millstream.stream.sparse_text import SparseText

__all__ = ["Libsvm", "read_libsvm"]


class Libsvm(SparseText):
    """A file in libsvm's text format; created by `read_libsvm`."""

    maker = "stream.read_libsvm"

    def __init__(
        self,
        path: Any,
        *,
        n_features: int | None = None,
        zero_based: bool | str = "auto",
        labels: str = "auto",
        on_error: str = "raise",
        follow: bool = False,
        idle: float | None = None,
    ) -> None:
        if n_features is not None:
            n_features = count("read_libsvm: n_features", n_features, 1, 2**28)
        if zero_based not in (True, False, "auto"):
            raise InvalidValue(
                f"stream.read_libsvm: zero_based must be True, False or 'auto', got {quoted(zero_based)}"
            )
        super().__init__(path, labels, on_error, follow, idle)
        self.n_features, self.zero_based = n_features, zero_based

    def reader(self, inside: bool = False) -> _core.TextReader:
        base = None if self.zero_based == "auto" else int(not self.zero_based)
        return _core.TextReader.libsvm(base, self.n_features, self.on_error == "skip")


def read_libsvm(
    path: Any,
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    labels: str = "auto",
    on_error: str = "raise",
    follow: bool = False,
    idle: float | None = None,
) -> Libsvm:
    """Read a file in the text format of libsvm and SVMlight: `label index:value …`.

    Comments after `#` and query ids (`qid:`) are ignored. Indices may be in any order; values of a repeated index
    are added. A line with several labels is refused.

    Parameters
    ----------
    path
        A file, which may be compressed with gzip or zstd; `"-"` for standard input; or an open file.
    n_features
        Number of columns. Without it, rows and models grow as higher indices appear.
    zero_based
        Whether the first column has index 0. `"auto"`: 0 if index 0 occurs in the first block of the file,
        otherwise 1; an index 0 later in the file is then an error. (scikit-learn's `"auto"` reads the whole file
        to decide.)
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
    >>> from millstream import stream
    >>> list(stream.read_libsvm(io.StringIO("+1 1:0.5 3:2 # first\\n-1 2:1\\n")))
    [({0: 0.5, 2: 2.0}, 1), ({1: 1.0}, -1)]
    """
    return Libsvm(
        path,
        n_features=n_features,
        zero_based=zero_based,
        labels=labels,
        on_error=on_error,
        follow=follow,
        idle=idle,
    )
