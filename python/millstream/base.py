"""Base classes of models written in Python.

A class with `learn_one` and `predict_one` (or `transform_one`, or `score_one`) that inherits from `Classifier`,
`Regressor`, `Transformer`, `Clusterer` or `AnomalyDetector` works in pipelines, in evaluation and together with
native models; it is only slower.
"""

from __future__ import annotations

import copy
import os
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from millstream import _examples, roles
from millstream._files import write_whole
from millstream._other_names import OTHER_VERBS, OtherVerb, unknown_name
from millstream._part import Part
from millstream._python_loop import Features, check_on_error, run_rows, teach, title_of
from millstream.errors import InvalidType
from millstream.roles import Role
from millstream.verbs import (
    OPTIONAL,
    VERBS,
    Decides,
    Explains,
    Label,
    Learns,
    MissingVerb,
    Predicts,
    PredictsProbabilities,
    Scores,
    Transforms,
)

if TYPE_CHECKING:
    from millstream.compose import Pipeline, Union

__all__ = [
    "AnomalyDetector",
    "AnomalyFilter",
    "Classifier",
    "Clusterer",
    "Features",
    "Label",
    "Model",
    "Part",
    "Predictor",
    "Regressor",
    "Transformer",
    "check_example",
]


class Model(Part):
    """The base class of models of any role: pipelines, copies, merging and saving."""

    #: The role: see `millstream.roles`.
    role: Role

    @property
    def _supervised(self) -> bool:
        """Whether it learns a target; used by River's wrappers."""
        return self.role.truth is not roles.Truth.NONE

    @property
    def _multiclass(self) -> bool:
        """Whether it is a classifier for any number of classes; used by River's wrappers."""
        return self.role is roles.CLASSIFIER

    def __or__(self, other: Any) -> Pipeline:
        """`a | b`: a pipeline."""
        from millstream.compose import Pipeline

        pipeline: Pipeline = Pipeline([self, other])
        return pipeline

    def __ror__(self, other: Any) -> Pipeline:
        from millstream.compose import Pipeline

        pipeline: Pipeline = Pipeline([other, self])
        return pipeline

    @property
    def memory(self) -> int:
        """Memory of the model in bytes."""
        from millstream._display import memory_of

        return memory_of(self)

    def copy(self) -> Self:
        """An independent copy with the same state."""
        return copy.deepcopy(self)

    def __copy__(self) -> Self:
        # A copy must not share its weights with the original.
        return copy.deepcopy(self)

    #: How exactly models of parts of a stream can be merged: "exact", "bounded", "approximate" or "none".
    MERGE: str = "none"

    def merge(self, other: Any, base: Any = None) -> None:
        """Merge the same model after another part of the stream; native models can, as exactly as `MERGE` says."""
        raise InvalidType(f"{title_of(self)}: cannot be merged: only native models can")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model atomically to a file that `millstream.load` reads."""
        write_whole(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model as versioned, checksummed bytes."""
        from millstream.compose.pipeline_file import component_bytes

        saved = component_bytes(self)
        if saved is None:
            raise InvalidType(f"{type(self).__name__}: cannot be saved as data with Python components; use pickle")
        return saved

    def __dir__(self) -> list[str]:
        uncertain = VERBS | OTHER_VERBS.keys()
        return [name for name in super().__dir__() if name not in uncertain or hasattr(self, name)]

    def _repr_html_(self) -> str:
        from millstream._display import html_of

        return html_of(self)


for _verb in VERBS:
    setattr(Model, _verb, MissingVerb(_verb))
for _verb in OTHER_VERBS:
    setattr(Model, _verb, OtherVerb(_verb))


def check_example(model: Any, y: Any = None, w: float = 1.0) -> None:
    """Refuse a target or weight that is invalid for the role of a model, such as NaN. For `learn_one` in Python.

    Examples
    --------
    >>> from millstream import base
    >>> class Mean(base.Regressor):
    ...     def learn_one(self, x, y, w=1.0):
    ...         base.check_example(self, y, w)
    >>> Mean().learn_one({}, float("nan"))
    Traceback (most recent call last):
    millstream.errors.InvalidValue: Mean: the target must be finite, got nan
    """
    _examples.check_example(title_of(model), model.role, y, w)


class Predictor(Learns, Predicts, Model):
    """A model that predicts: a classifier, a regressor or a clusterer."""


class Classifier(Explains, PredictsProbabilities, Predictor):
    """A model of class labels. A subclass defines `learn_one` and `predict_one` or `predict_proba_one`."""

    role = roles.CLASSIFIER


class Regressor(Explains, Predictor):
    """A model of numbers. A subclass defines `learn_one` and `predict_one`."""

    role = roles.REGRESSOR


class AnomalyDetector(Explains, Learns, Scores, Model):
    """A model of normal rows, learned without targets. A subclass defines `learn_one` and `score_one`.

    A higher score is more anomalous. A given target is ignored.
    """

    role = roles.ANOMALY_DETECTOR

    def step_one(self, x: Features, y: Any = None, w: float = 1.0, *, proba: bool = False) -> float:
        """Score one example, then learn it. Returns the score."""
        score = self.score_one(x)
        teach(self, x, y, w)
        return score

    def step_many(
        self, X: Any, y: Any = None, w: Any = None, *, proba: bool = False, on_error: str = "raise"
    ) -> Any:
        """Score each row, then learn it. Returns the scores from before each row was learned."""
        check_on_error(on_error)
        scores, _ = run_rows(self, X, y, w, "class", on_error)
        return np.array(scores, dtype=np.float64)


class AnomalyFilter(Decides, AnomalyDetector):
    """An anomaly detector that also decides. A subclass defines `learn_one`, `score_one` and `classify`.

    Within a pipeline it passes rows unchanged, and the later steps do not learn its anomalies.
    """


class Clusterer(Predictor):
    """A model of clusters, learned without targets. A subclass defines `learn_one` and `predict_one`.

    A cluster is an integer >= 0; -1 stands for none. A given target is ignored.
    """

    role = roles.CLUSTERER

    def step_one(self, x: Features, y: Any = None, w: float = 1.0, *, proba: bool = False) -> int:
        """Predict the cluster of one example, then learn it. Returns the cluster."""
        cluster: int = self.predict_one(x)
        teach(self, x, y, w)
        return cluster

    def step_many(
        self, X: Any, y: Any = None, w: Any = None, *, proba: bool = False, on_error: str = "raise"
    ) -> Any:
        """Predict the cluster of each row, then learn it. Returns the clusters, each from before its row."""
        check_on_error(on_error)
        clusters, _ = run_rows(self, X, y, w, "class", on_error)
        return np.array(clusters, dtype=np.int64)


class Transformer(Learns, Transforms, Model):
    """Converts features to features. A subclass defines `transform_one`, and `learn_one` if it learns."""

    role = roles.TRANSFORMER

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example; nothing by default."""

    def __add__(self, other: Any) -> Union:
        """`a + b`: the features of both."""
        from millstream.compose import Union

        return Union([self, other])

    def __radd__(self, other: Any) -> Union:
        from millstream.compose import Union

        return Union([other, self])


#: The base class of each role.
_BASES: dict[Role, type[Model]] = {
    roles.CLASSIFIER: Classifier,
    roles.REGRESSOR: Regressor,
    roles.ANOMALY_DETECTOR: AnomalyDetector,
    roles.CLUSTERER: Clusterer,
    roles.TRANSFORMER: Transformer,
}


@cache
def with_role(wrapper: Any, role: Role, optional: tuple[str, ...]) -> type:
    """The class of a wrapper with the verbs of its model: those of the role, and optional ones.

    The wrapper defines its verbs under private names (`_predict_one`), because its role is known only when an
    object is created.
    """
    bases = (wrapper, *(OPTIONAL[verb] for verb in optional), _BASES[role])
    rare = [name for verb in optional for name in vars(OPTIONAL[verb]) if not name.endswith("_many")]
    verbs = [verb for verb in (*role.verbs, *rare) if verb != "learn_one" and hasattr(wrapper, f"_{verb}")]
    own = {verb: getattr(wrapper, f"_{verb}") for verb in verbs}
    # Verbs for many rows have public names. Those without a verb for one row do not exist.
    every = {*role.verbs, *rare}
    many = [name for name in VERBS if name.endswith("_many") and hasattr(wrapper, name)]
    own |= {name: MissingVerb(name) for name in many if f"{name.removesuffix('_many')}_one" not in every}
    known = {"__module__": wrapper.__module__, "__doc__": wrapper.__doc__, "_wrapper": wrapper}
    return type(wrapper.__name__, bases, {**known, "_optional": optional, **own})


class Wrapper(Model):
    """A Python model with the role and the verbs of the model it wraps, set by `_wrap`."""

    #: The class without verbs, by which pickle finds this one, and the verbs beyond those of the role.
    _wrapper: ClassVar[type]
    _optional: ClassVar[tuple[str, ...]]

    def _wrap(self, model: Any) -> None:
        """Adopt the role and the verbs of a model."""
        role = roles.role_of(model)
        assert role is not None, "the caller has checked that it is a model"
        wrapper: Any = getattr(type(self), "_wrapper", type(self))
        possible = [verb for verb in OPTIONAL if verb not in role.verbs and hasattr(wrapper, f"_{verb}")]
        self.__class__ = with_role(wrapper, role, tuple(verb for verb in possible if hasattr(model, verb)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self._wrapper, self.role, self._optional), self.__getstate__()


def _unpickle(wrapper: type, role: Role, optional: tuple[str, ...]) -> Any:
    return object.__new__(with_role(wrapper, role, optional))


if not TYPE_CHECKING:
    __getattr__ = unknown_name(__name__)
