"""PyTorch modules as learners.

PyTorch is needed only to create a `Module`; millstream does not depend on it.
"""

from __future__ import annotations

import copy
import functools
import importlib
import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from millstream._echo import quoted, typed
from millstream._examples import check_example
from millstream._files import write_whole
from millstream.base import Classifier, Features, Label, Model, Regressor
from millstream.errors import InvalidType, InvalidValue, MissingPackage
from millstream.roles import CLASSIFIER

__all__ = ["Module"]


def _torch() -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingPackage("compat.torch: the package torch is not installed: pip install torch") from None
    return torch


class Module(Model):
    """Any `torch.nn.Module` as a learner: a classifier if it is given `classes`, otherwise a regressor.

    Each example is one step of the optimiser. The module receives a batch of rows of shape (rows, features) and
    returns (rows, classes) scores, or (rows,) or (rows, 1) numbers. Training uses `module.train()`, predicting
    `module.eval()` without gradients. An example whose gradient is not finite is refused, and leaves the model as
    it was. Results are repeatable for the same build of PyTorch and one thread.

    Its state is named arrays: `arrays()` has the parameters and buffers of the module, the state of the optimiser
    and of the random generator (dropout draws from it), `save(path)` writes them as .npz, and `load(path)` reads
    them into a learner that was built in the same way. Nothing is pickled, so that a file is safe to load.

    Parameters
    ----------
    module
        The network. It is copied; the learner's own is `module`.
    classes
        The labels of a classifier, in the order of the module's outputs.
    loss
        Function of outputs and targets; by default cross entropy, or the mean squared error.
    optimizer
        Function that receives the parameters and returns an optimiser, such as
        `functools.partial(torch.optim.Adam, lr=0.001)`; by default `torch.optim.SGD` with a rate of 0.01.
    features
        Names of the features in the order of the module's inputs; by default those of the first example. A feature
        that an example lacks counts as 0.
    batch_size
        Number of examples in a step. Until there are so many, examples wait and do not change the predictions.
    seed
        Random seed of the learner's generator.

    Examples
    --------
    >>> import functools
    >>> import torch  # doctest: +SKIP
    >>> network = torch.nn.Sequential(
    ...     torch.nn.Linear(1, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    ... )  # doctest: +SKIP
    >>> descent = functools.partial(torch.optim.SGD, lr=0.1)  # doctest: +SKIP
    >>> model = compat.torch.Module(network, classes=["low", "high"], optimizer=descent)  # doctest: +SKIP
    >>> model.step_one({"x": 0.9}, "high")  # doctest: +SKIP
    """

    def __new__(cls, module: Any = None, classes: Any = None, *others: Any, **named: Any) -> Any:
        if cls is Module:
            cls = _Classifier if classes is not None else _Regressor
        return object.__new__(cls)

    def __init__(
        self,
        module: Any,
        classes: Sequence[Label] | None = None,
        loss: Callable[..., Any] | None = None,
        optimizer: Callable[..., Any] | None = None,
        features: Sequence[Any] | None = None,
        batch_size: int = 1,
        seed: int = 0,
    ) -> None:
        torch = _torch()
        if not isinstance(module, torch.nn.Module):
            raise InvalidType(f"compat.torch.Module: module must be a torch.nn.Module, got {typed(module)}")
        for name, value, least in (("batch_size", batch_size, 1), ("seed", seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidValue(
                    f"compat.torch.Module: {name} must be an integer >= {least}, got {quoted(value)}"
                )
        if classes is not None and (len(classes) < 2 or len(set(classes)) != len(classes)):
            raise InvalidValue(
                f"compat.torch.Module: classes must be two different labels or more, got {quoted(classes)}"
            )
        self._given = {
            "module": module,
            "classes": None if classes is None else list(classes),
            "loss": loss,
            "optimizer": optimizer,
            "features": None if features is None else list(features),
            "batch_size": batch_size,
            "seed": seed,
        }
        #: The network that learns.
        self.module = copy.deepcopy(module)
        kind = next(iter(self.module.parameters()), torch.zeros(())).dtype
        self._dtype = kind if kind.is_floating_point else torch.get_default_dtype()
        make: Any = optimizer or functools.partial(torch.optim.SGD, lr=0.01)
        self.optimizer = make(self.module.parameters())
        default = torch.nn.functional.cross_entropy if classes is not None else torch.nn.functional.mse_loss
        self._loss = loss if loss is not None else default
        self._features = self._given["features"]
        self._waiting: list[tuple[Any, Any, float]] = []
        self._generator = torch.Generator().manual_seed(seed).get_state()
        #: Number of learned examples.
        self.learned = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The given parameters."""
        return dict(self._given)

    @property
    def classes(self) -> list[Label]:
        """The classes."""
        return list(self._given["classes"] or ())

    @property
    def features(self) -> list[Any]:
        """Names of the features, in the order of the module's inputs."""
        return list(self._features or ())

    def clone(self, **changes: Any) -> Any:
        """A learner that has learned nothing, with the same parameters except for `changes`."""
        return Module(**{**self._given, **changes})

    def describe(self) -> dict[str, Any]:
        raise InvalidType("compat.torch.Module: a module of PyTorch has no description; arrays() has its state")

    def __repr__(self) -> str:
        return f"compat.torch.Module({type(self.module).__name__})"

    def _row(self, x: Features, features: list[Any]) -> Any:
        if not isinstance(x, Mapping):
            raise InvalidType(f"compat.torch.Module: an example must be a dict of features, got {typed(x)}")
        for name in x:
            if name not in features:
                raise InvalidValue(
                    f"compat.torch.Module: the features are {', '.join(map(repr, features))}, got {quoted(name)}"
                )
        row = np.zeros(len(features))
        for place, name in enumerate(features):
            value = x.get(name)
            if value is None:
                continue
            try:
                row[place] = value
            except (TypeError, ValueError, OverflowError):
                raise InvalidType(
                    f"compat.torch.Module: feature {quoted(name)} must be a number, got {quoted(value)}; "
                    "put an encoder in front"
                ) from None
            if math.isnan(row[place]):
                row[place] = 0.0
            elif math.isinf(row[place]):
                raise InvalidValue(f"compat.torch.Module: feature {quoted(name)} must be finite, got {value}")
        return row

    def learn_one(self, x: Features, y: Any = None, w: float = 1.0) -> None:
        """Learn one example, or let it wait for its batch."""
        check_example("compat.torch.Module", self.role, y, w)
        target = self._target(y)
        features = list(x) if self._features is None and isinstance(x, Mapping) else self._features
        row = self._row(x, features or [])
        if w == 0.0:
            return
        waiting = [*self._waiting, (row, target, float(w))]
        if len(waiting) >= self._given["batch_size"]:
            self._step(waiting)
            waiting = []
        self._features, self._waiting = features, waiting
        self.learned += 1

    def _target(self, y: Any) -> Any:
        if self.role is not CLASSIFIER:
            return float(y)
        if y not in self._given["classes"]:
            known = ", ".join(map(repr, self._given["classes"]))
            raise InvalidValue(f"compat.torch.Module: the target must be one of {known}, got {quoted(y)}")
        return self._given["classes"].index(y)

    def _step(self, rows: list[tuple[Any, Any, float]]) -> None:
        torch = _torch()
        X = torch.as_tensor(np.stack([row for row, _, _ in rows]), dtype=self._dtype)
        y = [target for _, target, _ in rows]
        weights = torch.as_tensor([w for _, _, w in rows], dtype=self._dtype)
        targets = torch.as_tensor(y) if self.role is CLASSIFIER else torch.as_tensor(y, dtype=self._dtype)
        before = copy.deepcopy(self.module.state_dict()) if any(True for _ in self.module.buffers()) else None
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._generator)
            self.module.train()
            try:
                outputs = self.module(X)
                outputs = outputs if self.role is CLASSIFIER else outputs.reshape(len(rows))
                if all(w == 1.0 for _, _, w in rows):
                    loss = self._loss(outputs, targets)
                else:
                    each = [self._loss(outputs[row : row + 1], targets[row : row + 1]) for row in range(len(rows))]
                    loss = (torch.stack(each) * weights).mean()
            except (RuntimeError, ValueError, IndexError) as error:
                if before is not None:
                    self.module.load_state_dict(before)
                raise _unfit(error, X.shape[1]) from error
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            gradients = [each.grad for each in self.module.parameters() if each.grad is not None]
            if not (torch.isfinite(loss) and all(torch.isfinite(each).all() for each in gradients)):
                self.optimizer.zero_grad(set_to_none=True)
                if before is not None:
                    self.module.load_state_dict(before)
                raise InvalidValue(
                    "compat.torch.Module: this example has a gradient that is not finite; it was not learned "
                    "(scale the features, or lower the learning rate)"
                )
            self.optimizer.step()
            self._generator = torch.get_rng_state()

    def _outputs(self, x: Features) -> Any:
        torch = _torch()
        row = self._row(x, self._features if self._features is not None else list(x))
        self.module.eval()
        with torch.no_grad():
            try:
                outputs = self.module(torch.as_tensor(row[None, :], dtype=self._dtype))
            except (RuntimeError, ValueError, IndexError) as error:
                raise _unfit(error, len(row)) from error
        return outputs.reshape(-1).double().numpy()

    def arrays(self) -> dict[str, Any]:
        """The state as named arrays: of the module, the optimiser and the generator, and the waiting rows."""
        torch = _torch()
        found = {f"module.{name}": value.numpy().copy() for name, value in self.module.state_dict().items()}
        for index, slots in self.optimizer.state_dict()["state"].items():
            for name, value in slots.items():
                if value is not None:
                    tensor = torch.as_tensor(value).detach()
                    found[f"optimizer.{index}.{name}"] = tensor.numpy().copy()
        found["generator"] = self._generator.numpy().copy()
        found["learned"] = np.array(self.learned)
        if self._waiting:
            found["waiting.x"] = np.stack([row for row, _, _ in self._waiting])
            found["waiting.y"] = np.array([target for _, target, _ in self._waiting])
            found["waiting.w"] = np.array([w for _, _, w in self._waiting])
        if self._features is not None:
            found["features"] = np.array([str(name) for name in self._features], dtype=np.str_)
        return found

    def load_arrays(self, arrays: Mapping[str, Any]) -> None:
        """Adopt the state of a learner that was built in the same way; one that does not fit changes nothing."""
        torch = _torch()
        refuse = "compat.torch.Module: the arrays are not those of this module"
        mine = self.module.state_dict()
        state = {name.removeprefix("module."): a for name, a in arrays.items() if name.startswith("module.")}
        if state.keys() != mine.keys() or any(state[name].shape != mine[name].shape for name in mine):
            raise InvalidValue(f"{refuse}: its names or shapes differ")
        try:
            tensors = {name: torch.as_tensor(value, dtype=mine[name].dtype) for name, value in state.items()}
            slots: dict[int, dict[str, Any]] = {}
            for name, value in arrays.items():
                if name.startswith("optimizer."):
                    _, index, slot = name.split(".", 2)
                    slots.setdefault(int(index), {})[slot] = torch.as_tensor(np.array(value))
            generator = torch.as_tensor(np.array(arrays["generator"], dtype=np.uint8))
            learned = int(arrays["learned"])
            rows = [arrays.get(f"waiting.{part}", np.empty(0)) for part in "xyw"]
            given = None if "features" not in arrays else [str(name) for name in arrays["features"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(f"{refuse}: {error}") from None
        if self._given["features"] is not None and given not in (None, list(map(str, self._given["features"]))):
            raise InvalidValue(f"{refuse}: its features differ")
        if generator.shape != self._generator.shape:
            raise InvalidValue(f"{refuse}: its random generator differs")
        own = list(self.module.parameters())
        for place, found in slots.items():
            if place >= len(own) or any(each.dim() and each.shape != own[place].shape for each in found.values()):
                raise InvalidValue(f"{refuse}: the state of its optimiser differs")
        optimizer = {**self.optimizer.state_dict(), "state": slots}
        self.module.load_state_dict(tensors)
        self.optimizer.load_state_dict(optimizer)
        self._generator, self.learned = generator, learned
        self._features = self._given["features"] or given
        integer = self.role is CLASSIFIER
        self._waiting = [
            (np.array(x), int(y) if integer else float(y), float(w)) for x, y, w in zip(*rows, strict=True)
        ]

    def to_bytes(self) -> bytes:
        """The state as the bytes of an .npz file."""
        file = io.BytesIO()
        np.savez(file, **self.arrays())
        return file.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state atomically as .npz."""
        write_whole(path, self.to_bytes())

    def load(self, source: str | os.PathLike[str] | bytes) -> None:
        """Read the state that `save` or `to_bytes` has written; nothing in it is executed."""
        file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
        try:
            with np.load(file, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except (ValueError, OSError, EOFError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise InvalidValue(f"compat.torch.Module: the file is not a state of a module: {error}") from None
        self.load_arrays(arrays)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other: Self = cast("Any", Module)(**self._given)
        other.load_arrays(self.arrays())
        other._features = copy.copy(self._features)
        return other


def _unfit(error: Exception, features: int) -> InvalidValue:
    """The refusal of rows that the module or the loss cannot compute."""
    words = str(error).split("\n", 1)[0]
    return InvalidValue(f"compat.torch.Module: the module must compute rows of {features} features: {words}")


class _Classifier(Module, Classifier):
    def predict_proba_one(self, x: Features) -> dict[Label, float]:
        """The probability of each class for one example; empty before the first step."""
        if self.learned - len(self._waiting) == 0:
            return {}
        scores = self._outputs(x)
        wanted = len(self._given["classes"])
        if len(scores) != wanted:
            raise InvalidValue(f"compat.torch.Module: the module must return {wanted} scores, got {len(scores)}")
        scores = np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300)
        odds = np.exp(scores - scores.max())
        return dict(zip(self._given["classes"], (odds / odds.sum()).tolist(), strict=True))


class _Regressor(Module, Regressor):
    def predict_one(self, x: Features) -> float:
        """The number for one example; 0 before the first step."""
        if self.learned - len(self._waiting) == 0:
            return 0.0
        value = float(self._outputs(x)[0])
        return value if math.isfinite(value) else 0.0


for _kind in (_Classifier, _Regressor):
    _kind.__name__ = _kind.__qualname__ = "Module"
