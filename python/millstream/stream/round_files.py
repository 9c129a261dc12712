"""Files of rounds: Vowpal Wabbit's text of actions, and its JSON of decision services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream import _core
from millstream._echo import fitting, quoted
from millstream.errors import InvalidValue
from millstream.rounds import Round, Rounds
from millstream.stream.source import Source
from millstream.stream.table import REASONS, SkippedRows

__all__ = ["RoundFile", "read_dsjson"]


class RoundFile:
    """A file of rounds: iterate over it, or over its `chunks`. Created by `read_vw` and `read_dsjson`."""

    def __init__(
        self, path: Any, *, maker: str, json: bool, on_error: str, follow: bool, idle: float | None
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise InvalidValue(f"{maker}: on_error must be 'raise' or 'skip', got {quoted(on_error)}")
        self.path, self.on_error = path, on_error
        self._maker, self._json = maker, json
        self._source = Source(path, follow=follow, idle=idle)
        #: Skipped rounds of the last pass, with reasons.
        self.skipped = SkippedRows()
        #: Fields that were not read in the last pass, and the number of rounds that had each.
        self.unread: dict[str, int] = {}
        #: Number of rounds of the last pass that ask not to be learned; they have no reward.
        self.not_learned = 0

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return self._source.name

    def __repr__(self) -> str:
        return f"{self._maker}({self.source!r})"

    def chunks(self) -> Iterator[Rounds]:
        """The rounds in batches, each read when it is needed."""
        self.skipped = SkippedRows()
        reader = _core.RoundReader(self._json, self.on_error == "skip")
        any_rounds = False
        for piece, last in _with_last(self._source.pieces()):
            reader.parse(piece, last)
            self._note(reader)
            # A growing file yields its rounds as soon as they are complete.
            while reader.ready() or last or reader.stopped() or self._source.waits:
                batch = reader.take()
                if batch is None:
                    break
                any_rounds = True
                yield Rounds(batch)
            if reader.stopped():
                line, words = reader.refused()[1][-1]
                raise InvalidValue(f"{self.source}, line {line}: {fitting(words)}")
        if not any_rounds and not self.skipped and not self._source.follow:
            raise InvalidValue(f"{self.source}: there are no rounds")

    def _note(self, reader: _core.RoundReader) -> None:
        count, reasons = reader.refused()
        if not reader.stopped():
            self.skipped.count = count
            self.skipped.reasons[:] = [
                fitting(f"{self.source}, line {line}: {words}") for line, words in reasons[:REASONS]
            ]
        self.unread, self.not_learned = reader.unread()

    def __iter__(self) -> Iterator[Round]:
        for chunk in self.chunks():
            yield from chunk


def _with_last(pieces: Any) -> Iterator[tuple[bytes, bool]]:
    """Each piece, and an empty one that is the last."""
    for piece in pieces:
        if piece is not None:
            yield piece, False
    yield b"", True


def read_dsjson(
    path: Any, *, on_error: str = "raise", follow: bool = False, idle: float | None = None
) -> RoundFile:
    """Read a log of decisions in Vowpal Wabbit's JSON of decision services ("dsjson").

    A line is a round: the context and its actions in `c`, the action taken in `_labelIndex`, its probability in
    `_label_probability` and the negative reward in `_label_cost`. The name of a feature is `namespace^feature`,
    and a string is a feature of its own, `namespace^feature=string`. A round with `_skipLearn` has no reward, and
    is counted in `not_learned`. Fields that have no meaning here are counted by name in `unread`.

    Parameters
    ----------
    path
        A file, which may be compressed with gzip or zstd; `"-"` for standard input; or an open file.
    on_error
        `"raise"`: an unreadable round ends the stream with an error that names its line, after the rounds before
        it; `"skip"`: it is skipped and counted in `skipped`.
    follow
        Whether to wait at the end of the file for more lines, like `tail -f`.
    idle
        With `follow`, number of seconds without a new line after which the stream ends; None for never.

    Examples
    --------
    >>> import io
    >>> from millstream import bandit, stream
    >>> line = (
    ...     '{"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 1, "c": {"user": {"age": 3}, '
    ...     '"_multi": [{"item": {"id": "a"}}, {"item": {"id": "b"}}]}}'
    ... )
    >>> log = stream.read_dsjson(io.StringIO(line))
    >>> for round in log:
    ...     print(round.shared, round.actions, round.action, round.probability, round.reward)
    {'user^age': 3.0} [{'item^id=a': 1.0}, {'item^id=b': 1.0}] 1 0.5 1.0
    """
    return RoundFile(path, maker="stream.read_dsjson", json=True, on_error=on_error, follow=follow, idle=idle)
