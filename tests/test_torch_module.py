"""PyTorch modules as learners; skipped where PyTorch is not installed, except for the message that says so."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from millstream import compat, evaluate, preprocessing
from millstream.errors import InvalidType, InvalidValue, MissingPackage

without = importlib.util.find_spec("torch") is None


@pytest.mark.skipif(not without, reason="PyTorch is installed")
def test_without_torch_the_package_is_named() -> None:
    with pytest.raises(MissingPackage, match="pip install torch"):
        compat.torch.Module(object(), classes=["a", "b"])


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def network(torch: Any, outputs: int = 2, dropout: float = 0.0) -> Any:
    torch.manual_seed(1)
    parts = [torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Dropout(dropout), torch.nn.Linear(16, outputs)]
    return torch.nn.Sequential(*parts)


def rows(n: int = 600) -> list[tuple[dict[str, float], str]]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    return [({"a": float(a), "b": float(b)}, "in" if a * a + b * b < 1 else "out") for a, b in X]


def test_a_classifier_in_a_pipeline(torch: Any) -> None:
    module = compat.torch.Module(
        network(torch), ["in", "out"], optimizer=lambda parameters: torch.optim.Adam(parameters, lr=0.02)
    )
    result = evaluate.prequential(preprocessing.StandardScaler() | module, rows(), metrics="Accuracy")
    assert result["Accuracy"] > 0.8


def test_a_regressor(torch: Any) -> None:
    module = compat.torch.Module(network(torch, 1), optimizer=lambda p: torch.optim.SGD(p, lr=0.05))
    assert module.predict_one({"a": 1.0, "b": 1.0}) == 0.0
    for x, _ in rows():
        module.learn_one(x, x["a"] - 2 * x["b"])
    assert module.predict_one({"a": 1.0, "b": 0.0}) == pytest.approx(1.0, abs=0.4)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_saved_state_continues_exactly(torch: Any, batch_size: int, tmp_path: Any) -> None:
    def build() -> Any:
        make = lambda parameters: torch.optim.Adam(parameters, lr=0.01)  # noqa: E731
        return compat.torch.Module(network(torch, 2, 0.3), ["in", "out"], optimizer=make, batch_size=batch_size)

    data = rows(150)
    model = build()
    for x, y in data[:75]:
        model.learn_one(x, y)
    model.save(tmp_path / "state.npz")
    again = build()
    again.load(tmp_path / "state.npz")
    copied = model.copy()
    for x, y in data[75:]:
        for each in (model, again, copied):
            each.learn_one(x, y)
    arrays = model.arrays()
    for other in (again.arrays(), copied.arrays()):
        assert arrays.keys() == other.keys()
        assert all((arrays[name] == other[name]).all() for name in arrays)
    assert all(array.dtype != object for array in arrays.values())


def test_invalid_states_and_examples_change_nothing(torch: Any) -> None:
    model = compat.torch.Module(network(torch), ["in", "out"])
    for x, y in rows(10):
        model.learn_one(x, y)
    before = model.arrays()
    with pytest.raises(InvalidValue, match="not those of this module"):
        model.load_arrays({"module.other": np.zeros(3)})
    with pytest.raises(InvalidValue, match="not a state"):
        model.load(b"nonsense")
    with pytest.raises(InvalidValue, match="one of 'in', 'out'"):
        model.learn_one({"a": 1.0, "b": 1.0}, "elsewhere")
    with pytest.raises(InvalidValue, match="must be finite"):
        model.learn_one({"a": float("inf"), "b": 1.0}, "in")
    with pytest.raises(InvalidType, match="must be a number"):
        model.learn_one({"a": "red", "b": 1.0}, "in")
    with pytest.raises(InvalidValue, match="not finite"):
        model.learn_one({"a": 1e300, "b": -1e300}, "in")
    after = model.arrays()
    assert all((before[name] == after[name]).all() for name in before)
    assert model.clone().learned == 0


def test_states_of_another_optimiser_or_generator_are_refused(torch: Any) -> None:
    model = compat.torch.Module(
        network(torch), ["in", "out"], optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
    )
    for x, y in rows(10):
        model.learn_one(x, y)
    before = model.arrays()
    for name, value in (
        ("optimizer.0.momentum_buffer", np.zeros(3)),
        ("optimizer.9.momentum_buffer", np.zeros(3)),
        ("generator", np.zeros(5, dtype=np.uint8)),
    ):
        with pytest.raises(InvalidValue, match="differs"):
            model.load_arrays({**before, name: value})
    after = model.arrays()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)


def test_rows_that_the_module_cannot_compute_are_refused(torch: Any) -> None:
    model = compat.torch.Module(network(torch), ["in", "out"])
    with pytest.raises(InvalidValue, match="must compute rows of 3 features: .*mat1 and mat2"):
        model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, "in")
    assert model.learned == 0
    model.learn_one({"a": 1.0, "b": 1.0}, "in")
    assert model.features == ["a", "b"]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_batch_normalisation_and_each_optimiser_continue_exactly(torch: Any, name: str) -> None:
    def build() -> Any:
        torch.manual_seed(2)
        parts = [torch.nn.Linear(2, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)]
        others = {"momentum": 0.9} if name == "SGD" else {}
        make = lambda p: getattr(torch.optim, name)(p, lr=0.01, **others)  # noqa: E731
        return compat.torch.Module(torch.nn.Sequential(*parts), ["in", "out"], optimizer=make, batch_size=8)

    data = rows(100)
    model, again = build(), build()
    for x, y in data[:50]:
        model.learn_one(x, y)
    again.load(model.to_bytes())
    for x, y in data[50:]:
        model.learn_one(x, y)
        again.learn_one(x, y)
    mine, theirs = model.arrays(), again.arrays()
    assert mine.keys() == theirs.keys()
    assert all((mine[key] == theirs[key]).all() for key in mine)
    assert model.predict_proba_one(data[0][0]) == again.predict_proba_one(data[0][0])
