"""Many rounds as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from millstream import _core, _frames
from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.rounds.round import Round

__all__ = ["Rounds", "as_rounds"]


class Rounds:
    """A batch of rounds as columns, created by `Rounds.of`, `from_numpy`, `from_frame`, or a reader.

    An action is stored once, however many rounds offer it.

    Examples
    --------
    >>> import numpy as np
    >>> from millstream import bandit, rounds
    >>> shared, actions = np.eye(4), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> log = rounds.Rounds.from_numpy(shared, actions, action=[0, 1, 0, 1], probability=0.5, reward=[1, 0, 1, 1])
    >>> log
    Rounds(4 rounds, 2 actions each)
    >>> bandit.LinUCB().step_many(log).matrix.shape
    (4, 2)
    """

    def __init__(self, batch: _core.RoundBatch, labels: Sequence[Any] | None = None) -> None:
        #: The columns, as the core reads them.
        self.batch = batch
        #: The number of actions of each round.
        self.counts = batch.counts()
        self._labels = labels

    @classmethod
    def of(cls, rounds: Iterable[Round | Mapping[str, Any] | tuple[Any, ...]]) -> Rounds:
        """From rounds, or dicts with their fields: shared, actions, action, probability, reward."""
        given = [_as_round(entry) for entry in rounds]
        labels = [_labels(entry.actions) for entry in given]
        try:
            batch = _core.RoundBatch.from_rounds(
                [(r.shared, r.actions, r.action, _float(r.probability), _float(r.reward)) for r in given]
            )
        except MillstreamError as error:
            raise error.by("rounds") from None
        return cls(batch, labels)

    @classmethod
    def from_numpy(
        cls, shared: Any, actions: Any, *, action: Any = None, probability: Any = None, reward: Any = None
    ) -> Rounds:
        """From matrices: `shared` is n × d or None; `actions` is k × m, the same for all rounds, or n × k × m.

        `action` holds the index of the action taken in each round; `probability` may be one number for all.
        """
        left = None if shared is None else _matrix("shared", shared, (2,))
        right = _matrix("actions", actions, (2, 3))
        each = right if right.ndim == 3 else None
        if each is not None and left is not None and len(each) != len(left):
            raise InvalidValue(f"rounds: shared has {len(left)} rounds and actions {len(each)}")
        if left is None and each is None:
            raise InvalidType("rounds: without shared features, actions must be n × k × m")
        n = len(right) if left is None else len(left)
        fixed = right if each is None else None
        try:
            batch = _core.RoundBatch.from_arrays(left, fixed, each, *_outcomes(n, action, probability, reward))
        except MillstreamError as error:
            raise error.by("rounds") from None
        return cls(batch)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        by: str,
        shared: Sequence[str] = (),
        label: str | None = None,
        taken: str | None = None,
        probability: str | None = None,
        reward: str | None = None,
    ) -> Rounds:
        """From a long frame with a row for each action of each round, the rows of a round one after the other.

        Parameters
        ----------
        frame
            A pandas, polars or Arrow frame, or rows as dicts.
        by
            Column that identifies the round.
        shared
            Columns of the context; all rows of a round have the same values. All other columns are features of the
            action.
        label
            Column with the label of the action. Without other columns, the label is all that is known of the
            action.
        taken
            Column that is true for the action taken; probability and reward are read from its row.
        """
        named = {by, *shared, label, taken, probability, reward}
        found: list[Round] = []
        key: Any = object()
        for row in _frames.dicts(frame):
            if not found:
                _check_columns(row, [name for name in (by, *shared, label, taken, probability, reward) if name])
            if row[by] != key:
                key = row[by]
                found.append(Round({name: row[name] for name in shared}, {}, id=key))
            for name, value in found[-1].shared.items():
                if row[name] != value and not (row[name] != row[name] and value != value):
                    raise InvalidValue(
                        f"rounds: round {quoted(key)} must have one value of {quoted(name)}, got {quoted(value)} "
                        f"and {quoted(row[name])}"
                    )
            features = {name: value for name, value in row.items() if name not in named}
            actions = found[-1].actions
            own = len(actions) if label is None else row[label]
            if own in actions:
                raise InvalidValue(f"rounds: round {quoted(key)} has the action {quoted(own)} twice")
            actions[own] = features
            if taken is not None and row[taken]:
                if found[-1].action is not None:
                    raise InvalidValue(f"rounds: round {quoted(key)} has two actions taken")
                found[-1] = found[-1]._replace(
                    action=own,
                    probability=None if probability is None else row[probability],
                    reward=None if reward is None else row[reward],
                )
        bare = [r._replace(actions=list(r.actions)) if not any(r.actions.values()) else r for r in found]
        return cls.of(bare)

    def __len__(self) -> int:
        return len(self.batch)

    def labels(self, entry: int) -> Any:
        """The labels of the actions of a round."""
        if self._labels is not None:
            return self._labels[entry]
        actions = self.batch.round(entry)[1]
        return range(len(actions)) if actions and isinstance(actions[0], dict) else actions

    def labels_at(self, places: Any) -> Any:
        """The labels of one action of each round, given by its index."""
        return _frames.pack_answers([self.labels(row)[place] for row, place in enumerate(places.tolist())])

    def __getitem__(self, entry: int) -> Round:
        index = entry + len(self) if entry < 0 else entry
        shared, actions, place, probability, reward = self.batch.round(index)
        labels = self.labels(index)
        if actions and isinstance(actions[0], dict) and not isinstance(labels, range):
            named = dict(zip(labels, actions, strict=True))
            return Round(shared, named, None if place is None else labels[place], probability, reward)
        return Round(shared, actions, None if place is None else labels[place], probability, reward)

    def __iter__(self) -> Iterator[Round]:
        return (self[entry] for entry in range(len(self)))

    @property
    def actions(self) -> Any:
        """The index of the action taken in each round; -1 if none was taken."""
        return self.batch.outcomes()[0]

    @property
    def probabilities(self) -> Any:
        """The probability of each action taken; NaN if it is not known."""
        return self.batch.outcomes()[1]

    @property
    def rewards(self) -> Any:
        """The reward of each round; NaN if there is none."""
        return self.batch.outcomes()[2]

    def __repr__(self) -> str:
        low, high = (int(self.counts.min()), int(self.counts.max())) if len(self) else (0, 0)
        return f"Rounds({len(self)} rounds, {low if low == high else f'{low} to {high}'} actions each)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Rounds.of, (list(self),)


def as_rounds(rounds: Any) -> Rounds:
    """A batch of rounds, from a batch, a round, or an iterable of rounds."""
    if isinstance(rounds, Rounds):
        return rounds
    if isinstance(rounds, Round):
        return Rounds.of([rounds])
    if isinstance(rounds, (str, bytes, Mapping)) or not isinstance(rounds, Iterable):
        raise InvalidType(f"rounds: must be Rounds or a list of rounds, got {typed(rounds)}")
    return Rounds.of(rounds)


def _as_round(entry: Any) -> Round:
    if isinstance(entry, Round):
        return entry
    try:
        return Round(**entry) if isinstance(entry, Mapping) else Round(*entry)
    except TypeError:
        fields = ", ".join(Round._fields)
        raise InvalidType(f"rounds: a round must have the fields {fields}, got {typed(entry)}") from None


def _check_columns(row: Mapping[str, Any], named: Sequence[str]) -> None:
    for name in named:
        if name not in row:
            known = ", ".join(map(str, row))
            raise InvalidValue(f"rounds: the frame must have the column {quoted(name)}, got {known}")


def _labels(actions: Any) -> Any:
    """The labels of actions as they were given."""
    if isinstance(actions, Mapping):
        return list(actions)
    if isinstance(actions, np.ndarray) and actions.ndim > 1:
        return range(len(actions))
    try:
        listed = list(actions)
    except TypeError:
        raise InvalidType(f"rounds: actions must be a list or a dict, got {typed(actions)}") from None
    features = listed and (isinstance(listed[0], (Mapping, list, tuple)) or np.ndim(listed[0]) > 0)
    return range(len(listed)) if features else listed


def _float(number: Any) -> float | None:
    if number is None:
        return None
    try:
        return float(number)
    except (TypeError, ValueError):
        raise InvalidType(f"rounds: a probability and a reward must be numbers, got {typed(number)}") from None


def _matrix(what: str, given: Any, dimensions: tuple[int, ...]) -> Any:
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(f"rounds: {what} must be a matrix of numbers, got {typed(given)}") from None
    if array.ndim not in dimensions:
        words = " or ".join(map(str, dimensions))
        raise InvalidType(f"rounds: {what} must have {words} dimensions, got {array.ndim}")
    return array


def _outcomes(n: int, action: Any, probability: Any, reward: Any) -> tuple[Any, Any, Any]:
    """The columns of what is known after each round."""

    def column(what: str, given: Any, dtype: Any) -> Any:
        if given is None:
            return None
        try:
            array = np.ascontiguousarray(np.broadcast_to(np.asarray(given, dtype=dtype), n))
        except (TypeError, ValueError):
            raise InvalidValue(f"rounds: {what} must be one number or one of each of the {n} rounds") from None
        return array

    taken = column("action", action, None)
    if taken is not None and taken.dtype.kind not in "iu":
        whole = taken.astype(np.float64) if taken.dtype.kind in "fb" else None
        if whole is None or not (np.isnan(whole) | (whole == np.floor(whole))).all():
            raise InvalidValue(f"rounds: action must have the index of the action taken, got {typed(action)}")
        action = np.where(np.isnan(whole), -1.0, whole)
    return (
        column("action", action, np.int64),
        column("probability", probability, np.float64),
        column("reward", reward, np.float64),
    )
