"""A sequence of steps."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from millstream._answers import probabilities_of
from millstream._echo import quoted
from millstream._feature_names import name_steps, named
from millstream._native import Native, NativeWrapper
from millstream._python_loop import restore
from millstream.base import AnomalyFilter, Features, Model, Wrapper
from millstream.compose.members import called, find, gather, is_native, refuse_learned, unique
from millstream.compose.rollback import Rollback, learns, undo_native
from millstream.errors import InvalidType
from millstream.roles import SAMPLER, STEPS, TRANSFORMER, role_of

if TYPE_CHECKING:
    from millstream.compose.union import Union

__all__ = ["Pipeline"]

_WHO = "compose.Pipeline"


class Pipeline(Model):
    """A sequence of steps: transformers, optionally followed by a learner. `a | b | c` makes one.

    To learn, each transformer first learns the row and then transforms it for the next step. A pipeline of native
    steps is one compiled object: a row crosses to it once. Steps written in Python, and plain functions, may stand
    anywhere; native steps between them are still compiled together.

    An anomaly filter (`anomaly.QuantileFilter`) may stand in the middle: it passes rows on unchanged, and the
    steps after it do not learn the rows that it calls anomalies. They still predict them.

    An example that a step refuses leaves all steps unchanged, also if the error persists. Native transformers undo
    the example. The state of a small step written in Python is recorded before each example. A step that holds
    more than about 250 values is copied every 64 examples or more, as often as this costs less than learning; a
    rollback repeats the examples since then on a copy. If this fails too, the step keeps what it has learned, and
    the rollback is completed before the next example. Such a step must therefore learn the same from the same
    examples: draw random numbers from a generator that is an attribute. A large step that `copy.deepcopy` cannot
    copy keeps the example.

    Parameters
    ----------
    steps
        Steps in order; all but the last are transformers or anomaly filters. Each is a model, a plain function, a
        description, or a pair of a name and one of these. A list is expanded to its steps.
    names
        Name of each step; by default the name of its class.

    Examples
    --------
    >>> from millstream import linear_model, preprocessing
    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> model
    StandardScaler() | LogisticRegression()
    >>> for x, y in (({"x": 1.0}, False), ({"x": 3.0}, True)):
    ...     model.learn_one(x, y)
    >>> model.predict_one({"x": 4.0})
    True

    `model[name]` returns a copy of a step with its state:

    >>> model["StandardScaler"].inspect()
    {'features': {'x': {'count': 2.0, 'mean': 2.0, 'variance': 1.0}}}
    """

    name = _WHO

    def __new__(cls, *steps: Any, names: Any = None) -> Any:
        if cls is Pipeline:
            members, _ = gather(_WHO, "steps", steps, names)
            kind: Any = _NativePipeline if all(map(is_native, members)) else _PythonPipeline
            return kind.__new__(kind)
        return super().__new__(cls)

    if TYPE_CHECKING:

        def __init__(self, *steps: Any, names: Any = None) -> None: ...

        # A pipeline has the verbs of its last step.
        def __getattr__(self, name: str) -> Any: ...

        @property
        def steps(self) -> list[Any]: ...

        @property
        def names(self) -> list[str]: ...

    @classmethod
    def _from_parameters(cls, parameters: Mapping[str, Any]) -> Any:
        rest = {name: value for name, value in parameters.items() if name != "steps"}
        steps = parameters.get("steps", ())
        if not isinstance(steps, (list, tuple)):
            raise InvalidType(f"{_WHO}: steps must be a list of components, got {quoted(steps)}")
        return Pipeline(list(steps), **rest)

    @classmethod
    def _revive(cls, source: Any) -> Any:
        return NativeWrapper._revive.__func__(_NativePipeline, source)  # type: ignore[attr-defined]

    def __getitem__(self, key: str | int) -> Any:
        return self.steps[find(_WHO, self.names, key)]

    def __len__(self) -> int:
        return len(self.names)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.steps)

    def __add__(self, other: Any) -> Union:
        """`a + b`: the features of both."""
        from millstream.compose.union import Union

        return Union(self, other)

    def __radd__(self, other: Any) -> Union:
        from millstream.compose.union import Union

        return Union(other, self)

    def _shown(self, steps: list[Any], names: list[str] | None) -> str:
        from millstream.compose.union import Union

        if names is not None or len(steps) == 1:
            pairs = [repr(step) for step in steps]
            if names is not None:
                pairs = [f"({name!r}, {step})" for name, step in zip(names, pairs, strict=True)]
            return f"Pipeline({', '.join(pairs)})"
        return " | ".join(f"({step!r})" if isinstance(step, Union) else repr(step) for step in steps)


def _flatten(members: list[Any], names: list[str] | None, live: bool) -> tuple[list[Any], list[str] | None]:
    """Flatten pipelines among the members to their steps; a live compiled one that has learned is kept as one
    step."""
    flat: list[Any] = []
    flat_names: list[str] = []
    for place, member in enumerate(members):
        if isinstance(member, Pipeline) and not (live and isinstance(member, Native) and member.learned):
            inner = member._segments if live and isinstance(member, _PythonPipeline) else member.steps
            flat.extend(inner)
        else:
            flat.append(member)
        if names is not None:
            flat_names.extend(member.names if isinstance(member, Pipeline) else [names[place]])
    return flat, None if names is None else unique(flat_names)


class _NativePipeline(NativeWrapper, Pipeline):
    def __init__(self, *steps: Any, names: Any = None) -> None:
        members, own = gather(_WHO, "steps", steps, names)
        refuse_learned(_WHO, members)
        flat, own = _flatten(members, own, live=False)
        super().__init__(steps=flat, names=own)

    def inspect(self) -> Any:
        """The state of each step as plain data: weights, moments, counts."""
        told = super().inspect()
        steps = told.get("steps", [])
        for place, step in enumerate(steps[:-1]):
            if isinstance(step, Mapping) and "names" in step:
                from millstream.stream.feature_names import collected

                steps[place + 1] = named(steps[place + 1], collected(step["names"]))
        return told

    @property
    def steps(self) -> list[Any]:
        """Copies of the steps with their state."""
        steps = [self._member(place) for place in range(len(self))]
        name_steps(steps)
        return steps

    @property
    def names(self) -> list[str]:
        """The names of the steps."""
        parameters = self._description_dict["parameters"]
        if parameters["names"] is not None:
            return list(parameters["names"])
        return unique([step["name"].rpartition(".")[2] for step in parameters["steps"]])

    def __repr__(self) -> str:
        parameters = self.parameters
        return self._shown(parameters["steps"], parameters["names"])


class _PythonPipeline(Wrapper, Pipeline):
    """A pipeline with steps in Python. Native steps that follow each other are one compiled segment."""

    def __init__(self, *steps: Any, names: Any = None) -> None:
        members, own = gather(_WHO, "steps", steps, names)
        flat, self._names = _flatten(members, own, live=True)
        for step in flat:
            if role_of(step) is SAMPLER:
                raise InvalidType(f"{_WHO}: a sampler stands at the front, as sampler | model, got {step!r}")
        for step in flat[:-1]:
            if role_of(step) is not TRANSFORMER and not _is_filter(step):
                raise InvalidType(f"{_WHO}: only the last step may be a learner, {step!r} is not the last")
        if role_of(flat[-1]) not in STEPS:
            raise InvalidType(f"{_WHO}: steps must be transformers or learners, got {flat[-1]!r}")
        self._segments = _segments(flat)
        self._lock = threading.RLock()
        self._rollback = Rollback()
        #: Number of examples learned.
        self.learned = 0
        self._wrap(self._segments[-1])

    @property
    def steps(self) -> list[Any]:
        """The steps: those in Python themselves, native ones as copies with their state."""
        steps: list[Any] = []
        for segment in self._segments:
            steps.extend(segment.steps if isinstance(segment, Pipeline) else [segment])
        name_steps(steps)
        return steps

    @property
    def names(self) -> list[str]:
        """The names of the steps."""
        return list(self._names) if self._names is not None else unique([called(step) for step in self.steps])

    @property
    def parameters(self) -> dict[str, Any]:
        return {"steps": self.steps, "names": self._names}

    @property
    def features(self) -> list[Any]:
        """The features that the first step with a list of them has learned."""
        first = next((step for step in self._segments if hasattr(step, "features")), self._segments[-1])
        return list(first.features)

    @property
    def classes(self) -> list[Any]:
        """The classes that the last step has learned."""
        return list(self._segments[-1].classes)

    @property
    def max_classes(self) -> int | None:
        """The largest number of classes of the last step; None for no limit."""
        most: int | None = self._segments[-1].max_classes
        return most

    @property
    def dropped(self) -> int:
        """Number of features that were dropped by steps at their limit."""
        return sum(getattr(step, "dropped", 0) for step in self._segments)

    @property
    def folded(self) -> int:
        """Number of values that were learned as "other" by steps at their limit."""
        return sum(getattr(step, "folded", 0) for step in self._segments)

    def describe(self) -> dict[str, Any]:
        raise InvalidType(
            f"{_WHO}: a pipeline with steps in Python has no description; "
            "describe() and save() work for native components only, pickle for all"
        )

    def to_bytes(self) -> bytes:
        """The pipeline as checksummed bytes; its steps in Python must be components of millstream."""
        from millstream.compose.pipeline_file import pipeline_bytes

        with self._lock:
            self._rollback.retry()
            return pipeline_bytes(_WHO, self._segments, self._names, self.learned)

    def clone(self, new_params: Mapping[str, Any] | None = None, **changes: Any) -> Any:
        """A new, unlearned pipeline of the same steps."""
        if new_params is not None:
            from millstream.compat.parameters import changed

            return changed(self, {**new_params, **changes})
        from millstream._part import clone_value

        parameters = {name: clone_value(value) for name, value in self.parameters.items()}
        return self._from_parameters({**parameters, **changes})

    def __repr__(self) -> str:
        return self._shown(self.steps, self._names)

    def __getstate__(self) -> dict[str, Any]:
        self._rollback.retry()
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_rollback")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
        self._rollback = Rollback()

    def _return_to(self, before: _PythonPipeline) -> None:
        with self._lock:
            for step, earlier in zip(self._segments, before._segments, strict=True):
                restore(step, earlier)
            self.learned = before.learned
            self._rollback = Rollback()

    def _before_last(self, x: Features) -> Features:
        for step in self._segments[:-1]:
            x = x if _is_filter(step) else step.transform_one(x)
        return x

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example: each transformer learns and transforms it, then the last step learns."""
        if w == 0.0:
            return
        with self._lock:
            done: list[tuple[Any, int]] = []
            rollback, last = self._rollback, self._segments[-1]
            compiled = is_native(last)
            earlier = last.learned if compiled else 0
            rollback.begin(filter(learns, self._segments))
            try:
                for step in self._segments[:-1]:
                    # Scored before the row is learned, as in a native pipeline.
                    stops = _is_filter(step) and step.predict_one(x)
                    done.append((step, getattr(step, "learned", 0)))
                    rollback.teach(step, x, y, w)
                    if stops:
                        break
                    x = x if _is_filter(step) else step.transform_one(x)
                else:
                    rollback.teach(last, x, y, w)
            except BaseException:
                if compiled and last.learned != earlier:
                    # Interrupted after the last step had learned, which cannot be undone: all steps have learned.
                    rollback.commit()
                    self.learned += 1
                    raise
                try:
                    undo_native(done)
                finally:
                    rollback.undo()
                raise
            rollback.commit()
            self.learned += 1

    def _predict_one(self, x: Features) -> Any:
        """Predict one example."""
        with self._lock:
            return self._segments[-1].predict_one(self._before_last(x))

    def _predict_proba_one(self, x: Features) -> dict[Any, float]:
        """The probability of each class for one example."""
        with self._lock:
            return probabilities_of(self._segments[-1], self._before_last(x))

    def _predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Two numbers between which the target lies with probability `coverage`."""
        with self._lock:
            lower, upper = self._segments[-1].predict_interval_one(self._before_last(x), coverage)
            return float(lower), float(upper)

    def _score_one(self, x: Features) -> float:
        """The anomaly score of one example, by the last step."""
        with self._lock:
            return float(self._segments[-1].score_one(self._before_last(x)))

    def _classify(self, score: float) -> bool:
        """Whether a score is that of an anomaly, by the last step."""
        with self._lock:
            return bool(self._segments[-1].classify(score))

    def _transform_one(self, x: Features) -> dict[Any, Any]:
        """Transform one example."""
        with self._lock:
            return dict(self._segments[-1].transform_one(self._before_last(x)))


def _is_filter(step: Any) -> bool:
    """Whether a step keeps the later ones from learning some rows."""
    return isinstance(step, AnomalyFilter)


def _segments(steps: list[Any]) -> list[Any]:
    """Compile consecutive unlearned native steps into one.

    Filters stay separate, unless the pipeline is native from there to its end: the Python loop must know which
    rows they stop.
    """
    segments: list[Any] = []
    run: list[Any] = []
    to_the_end = len(steps)
    while to_the_end and is_native(steps[to_the_end - 1]) and not steps[to_the_end - 1].learned:
        to_the_end -= 1
    for place, step in enumerate([*steps, None]):
        compiles = step is not None and is_native(step) and not step.learned
        if compiles and (place >= to_the_end or not _is_filter(step)):
            run.append(step)
            continue
        if len(run) > 1:
            segments.append(_NativePipeline(*run))
        else:
            segments.extend(run)
        run = []
        if step is not None:
            segments.append(step)
    return segments


_NativePipeline.__name__ = _PythonPipeline.__name__ = "Pipeline"
