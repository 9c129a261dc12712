"""Writers of rounds: Vowpal Wabbit's text of actions, and its JSON of decision services."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from millstream._echo import quoted, typed
from millstream.errors import InvalidType, InvalidValue
from millstream.rounds import Round, Rounds, as_rounds

__all__ = ["write_dsjson", "write_vw"]

#: Characters with a meaning in Vowpal Wabbit's text.
_SPECIAL = re.compile(r"[\s|:]")


def write_vw(log: Any, path: Any, *, labels: str = "actions", by_class: bool = False) -> int:
    """Write a log as Vowpal Wabbit's text of actions, or examples with costs. Returns the number of rounds or
    examples. `read_vw` reads them with the same `labels` and `by_class`.

    A feature named "namespace^feature" goes to its namespace; others get the namespace "s" of the context or "a"
    of the actions. An action without features is written as the feature `action=label`.

    Parameters
    ----------
    log
        Rounds, or an iterable of rounds or of batches of rounds. With `labels="costs"`, an iterable of
        `(x, costs)`: a dict of features, or with `by_class` of features by class, and a dict of costs by class.
        Classes are integers.
    path
        The file, or an open file of text.
    labels
        `"actions"` or `"costs"`.
    by_class
        Whether x has features by class, which get a line each.

    Examples
    --------
    >>> import io
    >>> from millstream import rounds, stream
    >>> file = io.StringIO()
    >>> log = [rounds.Round({"age": 3}, [{"id": 1}, {"id": 2}], action=1, probability=0.5, reward=2.0)]
    >>> stream.write_vw(log, file)
    1
    >>> print(file.getvalue().strip())
    shared |s age:3.0
    |a id:1.0
    0:-2.0:0.5 |a id:2.0

    Costs of classes:

    >>> file = io.StringIO()
    >>> stream.write_vw([({"age": 3.0}, {1: 0.5, 2: 1.0})], file, labels="costs")
    1
    >>> print(file.getvalue().strip())
    1:0.5 2:1.0 | age:3.0
    """
    if labels == "costs":
        from millstream.stream.cost_writers import as_example, as_lines

        return _write("stream.write_vw", _Listed(log), path, as_lines if by_class else as_example)
    if labels != "actions" or by_class:
        raise InvalidValue(
            f"stream.write_vw: labels must be 'actions', or 'costs' with or without by_class, got {quoted(labels)}"
        )
    return _write("stream.write_vw", log, path, _as_text)


def write_dsjson(log: Any, path: Any) -> int:
    """Write a log in Vowpal Wabbit's JSON of decision services, which `read_dsjson` reads. Returns the number of
    rounds.

    Parameters
    ----------
    log
        Rounds, or an iterable of rounds or of batches of rounds.
    path
        The file, or an open file of text.

    Examples
    --------
    >>> import io
    >>> from millstream import rounds, stream
    >>> file = io.StringIO()
    >>> log = [rounds.Round({"age": 3}, [{"id": 1}, {"id": 2}], action=1, probability=0.5, reward=2.0)]
    >>> stream.write_dsjson(log, file)
    1
    >>> [round.action for round in stream.read_dsjson(io.StringIO(file.getvalue()))]
    [1]
    """
    return _write("stream.write_dsjson", log, path, _as_json)


def _write(who: str, log: Any, path: Any, form: Any) -> int:
    if hasattr(path, "write"):
        return _write_to(who, log, path, form)
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidType(f"{who}: path must be a path or an open file, got {typed(path)}")
    with Path(path).open("w", encoding="utf-8") as file:
        return _write_to(who, log, file, form)


def _write_to(who: str, log: Any, file: IO[str], form: Any) -> int:
    count = 0
    for batch in _batches(log):
        for entry in batch:
            file.write(form(who, entry))
            count += 1
    return count


class _Listed:
    """Examples that are written as they are, without batches."""

    def __init__(self, examples: Any) -> None:
        if not isinstance(examples, Iterable):
            raise InvalidType(f"stream.write_vw: examples must be (x, costs), got {typed(examples)}")
        self._examples = examples

    def chunks(self) -> Iterator[Any]:
        for example in self._examples:
            yield [example]


def _batches(log: Any) -> Iterator[Any]:
    if isinstance(log, (Rounds, Round)):
        yield as_rounds(log)
        return
    if hasattr(log, "chunks"):
        yield from log.chunks()
        return
    if not isinstance(log, Iterable):
        raise InvalidType(f"rounds: a log must be rounds or batches of rounds, got {typed(log)}")
    for item in log:
        yield item if isinstance(item, Rounds) else as_rounds([item])


def _actions(entry: Round) -> tuple[list[Mapping[Any, float]], int | None]:
    """The features of each action, and the place of the action taken."""
    given = entry.actions
    labels = list(given) if isinstance(given, Mapping) or not given or not isinstance(given[0], Mapping) else None
    if isinstance(given, Mapping):
        features = list(given.values())
    else:
        features = list(given) if labels is None else [{f"action={label}": 1.0} for label in labels]
    if entry.action is None:
        return features, None
    return features, entry.action if labels is None else labels.index(entry.action)


def _outcome(who: str, entry: Round) -> tuple[float, float]:
    """The cost and the probability of the action taken."""
    if entry.reward is None or entry.probability is None:
        raise InvalidValue(
            f"{who}: a round with an action taken must have its probability and reward, got {entry!r:.80}"
        )
    return (0.0 if entry.reward == 0 else -entry.reward), entry.probability


def _spaces(features: Mapping[Any, float], other: str) -> dict[str, dict[str, float]]:
    """Features by namespace."""
    found: dict[str, dict[str, float]] = {}
    for name, value in features.items():
        space, hat, short = str(name).partition("^")
        found.setdefault(space if hat else other, {})[short if hat else space] = value
    return found


def _pair(name: str, value: float) -> tuple[str, Any]:
    """A feature as it was before `feature=string` became a name of its own."""
    short, equals, word = name.partition("=")
    return (short, word) if equals and value == 1.0 else (name, value)


def _as_text(who: str, entry: Round) -> str:
    def part(features: Mapping[Any, float], other: str) -> str:
        words = []
        for space, own in _spaces(features, other).items():
            words.append(f"|{space}")
            for name, value in own.items():
                if _SPECIAL.search(space + name) or not math.isfinite(value):
                    raise InvalidValue(
                        f"{who}: a feature must have no space, '|' or ':' in its name, got {quoted(name)}"
                    )
                words.append(name if value == 1.0 and "=" in name else f"{name}:{value!r}")
        return " ".join(words) if words else "|"

    features, place = _actions(entry)
    lines = [f"shared {part(entry.shared, 's')}"] if entry.shared else []
    for index, own in enumerate(features):
        label = ""
        if index == place:
            cost, probability = _outcome(who, entry)
            label = f"0:{cost!r}:{probability!r} "
        lines.append(label + part(own, "a"))
    return "\n".join(lines) + "\n\n"


def _as_json(who: str, entry: Round) -> str:
    def tree(features: Mapping[Any, float], other: str) -> dict[str, Any]:
        spaces = _spaces(features, other)
        return {space: dict(_pair(name, v) for name, v in own.items()) for space, own in spaces.items()}

    features, place = _actions(entry)
    line: dict[str, Any] = {}
    if place is not None:
        cost, probability = _outcome(who, entry)
        line |= {
            "_label_cost": cost,
            "_label_probability": probability,
            "_label_Action": place + 1,
            "_labelIndex": place,
        }
    shared = tree(entry.shared, "s") if entry.shared else {}
    line["c"] = {**shared, "_multi": [tree(own, "a") for own in features]}
    return json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n"
