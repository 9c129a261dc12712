"""What keyed components of all kinds have in common: keys as values, limits and counters, dumps."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from millstream import _core
from millstream._echo import quoted
from millstream._part import shown_part, unlearned_copy
from millstream.base import Model
from millstream.compose.keyed_dump import AS_BEFORE, DumpFolder, load_bytes, load_folder, read_note
from millstream.compose.keyed_python import PythonModels
from millstream.errors import InvalidType, InvalidValue, MillstreamError
from millstream.registry import class_of

__all__ = ["DEFAULT_BYTES", "KeyedParts"]

#: The default of `max_bytes`: 1 GiB.
DEFAULT_BYTES = 1 << 30


class _Exactness:
    """`MERGE` of keyed models. Of the class: models of different keys stay as they are."""

    def __get__(self, keyed: Any, cls: type) -> str:
        return "exact" if keyed is None else str(keyed.template.MERGE)


class KeyedParts(Model):
    """One component for each key. `compose.Keyed` creates it, with the verbs of its template."""

    name = "compose.Keyed"

    #: The class that creates it.
    _wrapper: ClassVar[type]

    template: Any
    key: str | int
    max_keys: int | None
    max_bytes: int | None
    time: str | int | None
    ttl: float | None
    spill: str | None
    prior: str
    n_threads: int | None
    #: How far the stream was learned at the last `dump`.
    position: Any
    _models: Any
    _folder: DumpFolder | None

    #: How exactly two models of a key are merged: as those of the template.
    MERGE: str = _Exactness()  # type: ignore[assignment]

    def _wrap(self, model: Any) -> None:
        """Adopt the role and the verbs of the template."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        names = ("template", "key", "max_keys", "max_bytes", "time", "ttl", "spill", "prior", "n_threads")
        return {name: getattr(self, name) for name in names}

    def describe(self) -> dict[str, Any]:
        raise InvalidType(f"{self.name}: keyed models have no description; their template has one")

    def clone(self, **changes: Any) -> Any:
        """Keyed models that have learned nothing, with the same parameters except for `changes`."""
        return type(self)._wrapper(**{**self.parameters, "template": unlearned_copy(self.template), **changes})

    def __repr__(self) -> str:
        changed = {
            name: value
            for name, value in self.parameters.items()
            if value not in (None, DEFAULT_BYTES, "template") and name not in ("template", "key")
        }
        given = "".join(f", {name}={value!r}" for name, value in changed.items())
        return f"Keyed({self.template!r}, key={self.key!r}{given})"

    # Dumps.

    def _note(self, position: Any) -> str:
        """What a dump says about this object besides its models."""
        names = ("key", "time", "spill", "n_threads")
        try:
            return json.dumps({**{name: getattr(self, name) for name in names}, "position": position})
        except (TypeError, ValueError):
            got = quoted(position)
            raise InvalidType(
                f"{self.name}: a position must consist of numbers, strings, lists and dicts, got {got}"
            ) from None

    def to_bytes(self) -> bytes:
        """All models as versioned, checksummed bytes."""
        return bytes(self._native("saved as data").to_bytes(self._note(self.position)))

    def _native(self, doing: str) -> _core.KeyedParts:
        if isinstance(self._models, PythonModels):
            raise InvalidType(f"{self.name}: models written in Python cannot be {doing}; use pickle")
        models: _core.KeyedParts = self._models
        return models

    @classmethod
    def from_bytes(cls, data: bytes, *, spill: Any = AS_BEFORE) -> Any:
        """Models from the result of `to_bytes`. They continue exactly as the saved ones would.

        `spill` replaces the folder for models that do not fit in memory; None to drop them.
        """
        return cls._revived(*load_bytes(data, spill), None, spill)

    def dump(self, folder: str | os.PathLike[str], *, position: Any = None) -> dict[str, Any]:
        """Write the models to a folder: all the first time, later those that changed since.

        `position` says how far the stream was learned, as numbers, strings, lists or dicts. It is written together
        with the models, so that after a restart the stream continues exactly there: see the attribute `position`.

        The write is atomic: whenever the process is killed, `Keyed.load` finds the state of this dump or of the
        one before. Predictions go on meanwhile. Now and then all models are written again, and older files are
        removed. Returns the kind of the dump ("full" or "delta"), and the number of its models and bytes.
        """
        models = self._native("dumped")
        path = Path(folder).resolve()
        if self._folder is None or self._folder.path != path:
            self._folder = DumpFolder(path)
        written = self._folder.dump(models, self._note(position))
        self.position = position
        return written

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, spill: Any = AS_BEFORE) -> Any:
        """The models of the last `dump` to a folder. They continue exactly as if they had never stopped.

        `spill` replaces the folder for models that do not fit in memory; None to drop them.
        """
        return cls._revived(*load_folder(Path(folder).resolve(), spill), spill)

    @classmethod
    def _revived(cls, models: _core.KeyedParts, note: str, folder: DumpFolder | None, spill: Any) -> Any:
        wrapper: Any = getattr(cls, "_wrapper", cls)
        keyed: Any = object.__new__(wrapper)
        name = json.loads(models.description())["name"]
        kind: Any = class_of(name)
        template = kind.__new__(kind)
        models.copy_template(template)
        if hasattr(template, "_publish"):
            template._publish()
        limits = {name: limit for name, limit in models.limits().items() if limit is not None}
        keyed.template, keyed._models, keyed._folder = template, models, folder
        keyed.max_keys, keyed.max_bytes, keyed.ttl = (
            limits.get(name) for name in ("max_keys", "max_bytes", "ttl")
        )
        given = read_note(note)
        for parameter in ("key", "time", "spill", "n_threads", "position"):
            setattr(keyed, parameter, given[parameter])
        if spill is not AS_BEFORE:
            keyed.spill = None if spill is None else str(Path(spill).resolve())
        keyed.prior = "global" if models.has_global() else "template"
        keyed._wrap(template)
        return keyed

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_folder": None}
        if not isinstance(self._models, PythonModels):
            state["_models"] = self.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self._models, bytes):
            self._models = load_bytes(self._models, AS_BEFORE)[0]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        reduced: Any = self.__reduce__()
        wrapper, given, state = reduced
        other = wrapper(*given)
        other.__setstate__(copy.deepcopy(state, memo))
        return other

    # Merging.

    def merge(self, other: Any, base: Any = None) -> None:
        """Merge keyed models that learned another part of the stream.

        A model whose key is only in `other` is copied. Two models of a key are merged, as exactly as `MERGE` says;
        if they cannot be merged, the error names the key, and nothing has changed. `other` does not change. The
        prediction errors in `totals` restart at zero for the keys of `other`, and limits hold as for learned rows.

        Parameters
        ----------
        other
            Keyed models with an equal template.
        base
            Must be None: keyed models have no record of a base. Let the parts start without keys.

        Examples
        --------
        >>> from millstream import baseline, compose
        >>> north, south = (compose.Keyed(baseline.TargetMean(), key="shop") for _ in range(2))
        >>> north.learn_many([{"shop": "a"}, {"shop": "b"}], [1.0, 5.0])
        0
        >>> south.learn_many([{"shop": "b"}, {"shop": "c"}], [7.0, 9.0])
        0
        >>> north.merge(south)
        >>> [north.predict_one({"shop": shop}) for shop in "abc"]
        [1.0, 6.0, 9.0]
        """
        self._check_other(other, base)
        merged: dict[Any, Any] = {}
        # The order in which they have learned, which decides which are dropped first.
        for key in other.least_recent(len(other)):
            model, ours = other.get(key), self.get(key)
            if model is None:
                continue  # dropped meanwhile
            if ours is None:
                merged[key] = model
                continue
            if getattr(self.template, "learned", 0):
                raise InvalidValue(
                    f"{self.name}: key {key!r}: both models began with a template that has learned, which would "
                    "count twice"
                )
            try:
                ours.merge(model)
            except MillstreamError as error:
                raise error.by(f"{self.name}: key {key!r}") from None
            merged[key] = ours
        if merged and len(self) and isinstance(next(iter(merged)), str) != isinstance(self.keys()[0], str):
            ours, theirs = ("strings", "integers") if isinstance(self.keys()[0], str) else ("integers", "strings")
            raise InvalidType(f"{self.name}: the keys are {ours}, and those of the other are {theirs}")
        for key, model in merged.items():
            self[key] = model

    def _check_other(self, other: Any, base: Any) -> None:
        if not isinstance(other, KeyedParts):
            raise InvalidType(f"{self.name}: only keyed models can be merged, got {shown_part(other)}")
        if base is not None:
            raise InvalidValue(
                f"{self.name}: keyed models have no record of a base: let the parts start without keys, and merge "
                "them without base="
            )
        if (other.key, other.time) != (self.key, self.time):
            ours, theirs = ((each.key, each.time) for each in (self, other))
            raise InvalidValue(
                f"{self.name}: can be merged if key and time are equal, got {quoted(ours)} and {quoted(theirs)}"
            )
        templates = [
            type(each.template) if isinstance(each._models, PythonModels) else each.template.describe()
            for each in (self, other)
        ]
        if templates[0] != templates[1]:
            raise InvalidValue(
                f"{self.name}: can be merged if the templates are equal, got {shown_part(self.template)} and "
                f"{shown_part(other.template)}"
            )
        if "global" in (self.prior, other.prior):
            raise InvalidValue(
                f'{self.name}: cannot be merged with prior="global", because new keys began with models of '
                'different parts of the stream; use prior="template"'
            )
        if self.ttl is not None:
            raise InvalidValue(
                f"{self.name}: cannot be merged with ttl, because the times of the last examples would be lost"
            )

    # Keys as values.

    def __len__(self) -> int:
        # Models that have expired still take memory, but count as absent.
        return len(self._models) if self.ttl is None else len(self.keys())

    def __contains__(self, key: Any) -> bool:
        return bool(self._models.has(plain_key(key)))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __bool__(self) -> bool:
        return True

    def keys(self) -> list[Any]:
        """All keys in ascending order."""
        return list(self._models.facts()[0])

    def values(self) -> Iterator[Any]:
        """Copies of all models, in ascending order of keys."""
        return (model for _, model in self.items())

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All keys in ascending order, each with a copy of its model."""
        for key in self.keys():
            try:
                model = self[key]
            except KeyError:  # dropped meanwhile
                continue
            yield key, model

    def get(self, key: Any, default: Any = None) -> Any:
        """A copy of the model of a key; `default` for an unknown key."""
        try:
            return self[key]
        except KeyError:
            return default

    def pop(self, key: Any) -> Any:
        """Remove the model of a key and return it."""
        model = self[key]
        del self[key]
        return model

    def __getitem__(self, key: Any) -> Any:
        """A copy of the model of a key, which may be used and saved on its own."""
        if isinstance(self._models, PythonModels):
            return self._models.copy_of(plain_key(key))
        return self._filled(lambda model: self._models.copy_to(plain_key(key), model))

    @property
    def prior_model(self) -> Any:
        """A copy of the model that a new key begins with: the template, or the global model."""
        if isinstance(self._models, PythonModels):
            return copy.deepcopy(self._models.prior)
        return self._filled(self._models.copy_prior)

    def _filled(self, fill: Callable[[Any], None]) -> Any:
        """A model of the template that `fill` gives its state."""
        kind: Any = getattr(type(self.template), "_wrapper", type(self.template))
        model = kind.__new__(kind)
        fill(model)
        if hasattr(model, "_publish"):
            model._publish()
        return model

    def __setitem__(self, key: Any, model: Any) -> None:
        """Replace or add the model of a key. `model`, which is copied, must have the template's parameters."""
        kinds = (_core.Model, _core.Forecaster, _core.DriftDetector)
        same = any(isinstance(model, kind) and isinstance(self.template, kind) for kind in kinds)
        if not same and not isinstance(self._models, PythonModels):
            raise InvalidType(f"{self.name}: a model of the template is required, got {shown_part(model)}")
        self._models.put(plain_key(key), model)

    def __delitem__(self, key: Any) -> None:
        """Forget the model of a key."""
        self._models.remove(plain_key(key))

    @property
    def counters(self) -> dict[str, int]:
        """Numbers of models: `created`, `spilled`, `returned`, `expired` by `ttl`, `dropped` for lack of room."""
        return dict(self._models.counters())

    @property
    def memory(self) -> int:
        """Memory of all models in bytes."""
        return int(self._models.memory)

    @property
    def spilled(self) -> int:
        """Number of models that are in the spill file."""
        return int(self._models.spilled()[0])

    @property
    def spilled_bytes(self) -> int:
        """Size of the spill file in bytes."""
        return int(self._models.spilled()[1])

    @property
    def learned(self) -> int:
        """Number of examples that the present models have learned."""
        return int(np.sum(self._models.facts()[1]))

    def totals(self) -> dict[str, Any]:
        """One row per key, as columns: `key`, `learned`, `last_seen`, `scored` and `mean_error`.

        `mean_error` is the error rate, the mean absolute error or the mean score of the predictions of `step_one`
        and `step_many`; NaN before the first. `to_frame` makes a frame of it.
        """
        keys, learned, times, scored, errors, _ = self._models.facts()
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(scored > 0, errors / scored, np.nan)
        column = np.array(keys, dtype=object if keys and isinstance(keys[0], str) else np.int64)
        return {"key": column, "learned": learned, "last_seen": times, "scored": scored, "mean_error": means}

    def to_frame(self, kind: str | None = None) -> Any:
        """`totals` as a frame of "pandas", "polars" or "pyarrow"; by default of the first that is installed."""
        from millstream.evaluate.frames import frame

        return frame(self.totals(), kind)

    def most_surprising(self, n: int = 10) -> list[tuple[Any, float]]:
        """The keys with the highest mean error or score of their predictions, and that mean."""
        totals = self.totals()
        means = np.nan_to_num(totals["mean_error"], nan=-np.inf)
        chosen = np.argsort(-means, kind="stable")[:n]
        return [(totals["key"][at], float(means[at])) for at in chosen if means[at] > -np.inf]

    def least_recent(self, n: int = 10) -> list[Any]:
        """The keys that have learned least recently, the oldest first."""
        keys, *_, ticks = self._models.facts()
        return [keys[at] for at in np.argsort(ticks, kind="stable")[:n]]

    @property
    def mean_error(self) -> float:
        """Mean error or score of the predictions of all present models, as in `totals`; NaN before the first."""
        _, _, _, scored, errors, _ = self._models.facts()
        return float(np.sum(errors) / np.sum(scored)) if np.sum(scored) else float("nan")


def plain_key(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key
