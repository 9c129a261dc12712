"""`compose.Keyed` is a dict of models: for every learner, any size of batches and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millstream import compose
from streams import Case, answer, cases, fit, learn_one, mixed, numeric

LEARNERS = ("classifier", "regressor", "anomaly_detector", "clusterer")
KEYS = 7


def _keys(rows: int) -> Any:
    return np.random.default_rng(3).integers(0, KEYS, rows)


def _same(keyed: Any, models: dict[int, Any]) -> None:
    assert keyed.keys() == sorted(models)
    for key, model in models.items():
        assert keyed[key].to_bytes() == model.to_bytes()


@pytest.mark.parametrize("case", cases(*LEARNERS, varied=True), ids=repr)
def test_it_is_a_dict_of_models_on_matrices(case: Case) -> None:
    rows = 160
    X, numbers = numeric(rows)
    y, keys = case.targets(numbers), _keys(rows)
    models: dict[int, Any] = {}
    expected = []
    for row in range(rows):
        model = models.setdefault(int(keys[row]), case.build())
        expected.append(model.step_many(X[row : row + 1], *(() if y is None else (y[row : row + 1],)))[0])
    for size, threads in ((1, 1), (17, 1), (rows, 3)):
        keyed = compose.Keyed(case.build(), key="key", n_threads=threads)
        given = []
        for start in range(0, rows, size):
            end = start + size
            given += list(keyed.step_many(X[start:end], None if y is None else y[start:end], keys=keys[start:end]))
        assert given == expected
        _same(keyed, models)
    asked = [_ask_many(case, models[int(key)])(X[row : row + 1])[0] for row, key in enumerate(keys)]
    assert list(_ask_many(case, keyed)(X, keys=keys)) == asked


def _ask_many(case: Case, model: Any) -> Any:
    return case.ask_many(model)


@pytest.mark.parametrize("case", cases(*LEARNERS), ids=repr)
def test_it_is_a_dict_of_models_on_mixed_dicts(case: Case) -> None:
    stream, models = mixed(120), {}
    keyed = compose.Keyed(case.build(), key="key")
    for (x, number), key in zip(stream, _keys(len(stream)).tolist(), strict=True):
        learn_one(case, models.setdefault(key, case.build()), x, number)
        learn_one(case, keyed, {**fit(case, x), "key": key}, number)
    _same(keyed, models)
    for x, _ in mixed(10, seed=11):
        for key, model in models.items():
            assert answer(case, keyed, {**fit(case, x), "key": key}) == answer(case, model, x)


@pytest.mark.parametrize("case", cases(*LEARNERS), ids=repr)
def test_a_refused_batch_leaves_all_models_as_they_were(case: Case) -> None:
    X, numbers = numeric(60)
    y, keys = case.targets(numbers), _keys(60)
    keyed = compose.Keyed(case.build(), key="key", n_threads=2)
    keyed.learn_many(X[:30], None if y is None else y[:30], keys=keys[:30])
    before = {key: keyed[key].to_bytes() for key in keyed}
    counters = keyed.counters
    bad = X[30:].copy()
    bad[-1, 0] = np.inf
    with pytest.raises(ValueError, match=r"row 29: key \d: "):
        keyed.learn_many(bad, None if y is None else y[30:], keys=keys[30:] + 2)
    assert {key: keyed[key].to_bytes() for key in keyed} == before
    assert keyed.counters == counters
