"""Shards: each batch at most once, states in files, and damage is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import compose, linear_model, preprocessing, tree
from millstream.errors import InvalidState, InvalidType, InvalidValue
from millstream.shard import Ledger, Shard, StaleEpoch, StateFiles, owners, shards_of


def keyed(**settings: Any) -> Any:
    return compose.Keyed(preprocessing.StandardScaler() | linear_model.LogisticRegression(), key="k", **settings)


def batch(number: int, rows: int = 200, keys: int = 400) -> tuple[Any, Any, Any]:
    stream = np.random.default_rng(number)
    X = stream.normal(size=(rows, 3))
    return X, (X[:, 0] > 0).astype(int), stream.integers(0, keys, rows)


def learn(number: int, rows: int = 200) -> Any:
    X, y, keys = batch(number, rows)
    return lambda model: model.step_many(X, y, keys=keys)


def everything(model: Any) -> Any:
    totals = {name: column.tolist() for name, column in model.totals().items()}
    return {key: model[key].to_bytes() for key in model}, json.dumps(totals), model.counters


def test_a_batch_is_learned_at_most_once(tmp_path: Path) -> None:
    shard = Shard(keyed(), tmp_path, epoch=3)
    once = keyed()
    for seq in (0, 0, 1, 0, 1, 4, 2, 4, 5):
        answers = shard.apply(3, seq, learn(seq))
        if answers is not None:
            assert answers.tolist() == learn(seq)(once).tolist()
    assert everything(shard.model) == everything(once)
    assert (shard.seq, once.learned) == (5, 800)


def test_other_epochs_and_gaps_are_refused(tmp_path: Path) -> None:
    shard = Shard(keyed(), tmp_path, epoch=3)
    shard.apply(3, 1, learn(1))
    before = everything(shard.model)
    with pytest.raises(
        StaleEpoch, match="the call comes from an epoch that has ended: the call has 2, the shard 3"
    ):
        shard.apply(2, 2, learn(2))
    with pytest.raises(
        StaleEpoch, match="this process is from an epoch that has ended: the call has 4, the shard 3"
    ):
        shard.apply(4, 2, learn(2))
    with pytest.raises(InvalidState, match="batch 4 follows batch 3, but the shard has learned 1"):
        shard.apply(3, 4, learn(4), after=3)
    with pytest.raises(InvalidValue):
        shard.apply(3, 2, lambda model: model.learn_many(np.full((1, 3), np.nan), [1], keys=[None]))
    assert (shard.seq, everything(shard.model)) == (1, before)
    shard.apply(3, 2, learn(2), after=1)
    assert shard.seq == 2


@pytest.mark.parametrize("snapshot_every", [1, 4, 100])
def test_every_saved_batch_is_restored_exactly(tmp_path: Path, snapshot_every: int) -> None:
    shard = Shard(keyed(), tmp_path, snapshot_every=snapshot_every)
    states, chains = [], []
    for seq in range(10):
        shard.apply(0, seq, learn(seq))
        shard.note = {"rows": 200 * seq}
        chains.append(shard.save())
        assert shard.save() == chains[-1]
        states.append(everything(shard.model))
        assert len(chains[-1]) <= snapshot_every
    for seq, (state, chain) in enumerate(zip(states, chains, strict=True)):
        for given in ({"at": (0, seq)}, {"chain": chain}):
            restored = Shard.restore(tmp_path, snapshot_every=snapshot_every, **given)
            assert (everything(restored.model), restored.seq) == (state, seq)
            assert restored.note == {"rows": 200 * seq}
        for later in range(seq + 1, 10):
            restored.apply(0, later, learn(later))
        assert everything(restored.model) == states[-1]
    assert Shard.restore(tmp_path).seq == 9


def test_two_attempts_write_the_same_files(tmp_path: Path) -> None:
    first = Shard(keyed(), tmp_path / "shard", snapshot_every=3)
    states = {}
    for seq in range(7):
        chain = list(first.chain)
        # The second attempt starts from the files, and comes first or last.
        second = Shard.restore(tmp_path / "shard", chain=chain, snapshot_every=3) if chain else Shard(
            keyed(), tmp_path / "shard", snapshot_every=3
        )  # fmt: skip
        order = [first, second] if seq % 2 else [second, first]
        for attempt in order:
            attempt.apply(0, seq, learn(seq))
            attempt.save()
        assert first.chain == second.chain
        states[seq] = everything(first.model)
        assert everything(Shard.restore(tmp_path / "shard", chain=first.chain).model) == states[seq]
        first = order[0]
    assert list((tmp_path / "shard").glob(".*")) == []


def test_a_shard_continues_only_its_own_files(tmp_path: Path) -> None:
    first, second = (Shard(keyed(), tmp_path, snapshot_every=9) for _ in range(2))
    for shard, number in ((first, 1), (second, 2)):
        shard.apply(0, 0, learn(number))
        shard.save()
    # The file is that of the first, and the second has learned other rows.
    assert first.continues(first.chain)
    assert not second.continues(second.chain)
    other = Shard.restore(tmp_path, snapshot_every=9)
    other.apply(0, 1, learn(5))
    chain = other.save()
    # What another process has written since is applied.
    assert first.continues(chain)
    assert (everything(first.model), first.seq) == (everything(other.model), 1)
    first.apply(0, 2, learn(6))
    assert not first.continues(chain)


def test_a_new_epoch_does_not_continue_files_of_another(tmp_path: Path) -> None:
    zombie = Shard(keyed(), tmp_path, epoch=1)
    zombie.apply(1, 0, learn(0))
    zombie.save()
    heir = Shard.restore(tmp_path, epoch=2)
    heir.apply(2, 1, learn(1))
    assert heir.save() == ["000002-0000000001-full.state"]
    expected = everything(heir.model)
    # The zombie continues to write; its files are not those of the last epoch.
    for seq in (1, 2, 3):
        zombie.apply(1, seq, learn(9 + seq))
        zombie.save()
    assert everything(Shard.restore(tmp_path).model) == expected
    heir.apply(2, 4, learn(4))
    assert heir.save() == ["000002-0000000001-full.state", "000002-0000000004-delta.state"]
    assert everything(Shard.restore(tmp_path, epoch=3).model) == everything(heir.model)


def test_any_model_can_be_a_shard(tmp_path: Path) -> None:
    shard = Shard(tree.HoeffdingTreeClassifier(grace_period=20), tmp_path)
    for seq in range(3):
        X, y, _ = batch(seq)
        shard.apply(0, seq, lambda model, X=X, y=y: model.learn_many(X, y))
        chain = shard.save()
    assert chain == ["000000-0000000002-full.state"]
    restored = Shard.restore(tmp_path)
    assert restored.model.to_bytes() == shard.model.to_bytes()
    X, y, _ = batch(7)
    restored.apply(0, 3, lambda model: model.learn_many(X, y))
    assert restored.model.learned == 800


def test_models_written_in_python_are_refused_in_one_line(tmp_path: Path) -> None:
    from millstream.base import Regressor

    class Constant(Regressor):
        def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None: ...

        def predict_one(self, x: Any) -> float:
            return 0.0

    shard = Shard(compose.Keyed(Constant(), key="k"), tmp_path)
    with pytest.raises(InvalidType, match="models written in Python cannot be dumped"):
        shard.save()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["keyed", "tree"])
def test_a_flipped_bit_is_found_and_named(tmp_path: Path, kind: str) -> None:
    shard = Shard(keyed() if kind == "keyed" else tree.HoeffdingTreeClassifier(), tmp_path)
    for seq in range(2):
        X, y, keys = batch(seq, rows=20)
        beside = {"keys": keys} if kind == "keyed" else {}
        shard.apply(0, seq, lambda model, X=X, y=y, beside=beside: model.learn_many(X, y, **beside))
        chain = shard.save()
    assert len(chain) == (2 if kind == "keyed" else 1)
    random = np.random.default_rng(5)
    for name in chain:
        whole = (tmp_path / name).read_bytes()
        places = {*range(64), *random.integers(0, len(whole), 300).tolist(), len(whole) - 1}
        for place in places:
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(random.integers(8))
            (tmp_path / name).write_bytes(damaged)
            with pytest.raises(InvalidState, match=name):
                Shard.restore(tmp_path, chain=chain)
        for length in (0, 7, len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:length])
            with pytest.raises(InvalidState, match=name):
                Shard.restore(tmp_path, chain=chain)
        (tmp_path / name).write_bytes(whole)
    assert Shard.restore(tmp_path, chain=chain).seq == 1


def test_missing_files_are_named(tmp_path: Path) -> None:
    shard = Shard(keyed(), tmp_path)
    for seq in range(3):
        shard.apply(0, seq, learn(seq, 20 if seq else 200))
        chain = shard.save()
    (tmp_path / chain[1]).unlink()
    with pytest.raises(InvalidState, match=f"{chain[1]}.* is missing"):
        Shard.restore(tmp_path, chain=chain)
    # Without the list of files, the next one does not follow.
    with pytest.raises(InvalidState, match=f"{chain[2]}.*does not follow"):
        Shard.restore(tmp_path)
    with pytest.raises(InvalidState, match=r"there is no state of batch \(0, 7\)"):
        Shard.restore(tmp_path, at=(0, 7))
    (tmp_path / chain[0]).unlink()
    with pytest.raises(InvalidState, match="the full state before"):
        Shard.restore(tmp_path)
    with pytest.raises(InvalidState, match="there is no full state"):
        Shard.restore(tmp_path / "elsewhere")


def test_pruning_keeps_what_is_needed(tmp_path: Path) -> None:
    shard = Shard(keyed(), tmp_path, snapshot_every=3)
    for seq in range(8):
        shard.apply(0, seq, learn(seq))
        chain = shard.save()
    (tmp_path / ".000000-0000000003-full.state.abc123").write_bytes(b"left behind")
    (tmp_path / "notes.txt").write_text("of the user")
    (tmp_path / ".000000-0000000009-full.state.abc123").write_bytes(b"being written")
    shard.files.prune(set(chain), (0, 7))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*chain, "notes.txt", ".000000-0000000009-full.state.abc123"}
    assert everything(Shard.restore(tmp_path).model) == everything(shard.model)


def test_a_file_without_a_batch_id_is_refused(tmp_path: Path) -> None:
    StateFiles(tmp_path).write(keyed(), (0, 1), [], {"offset": 3})
    with pytest.raises(InvalidState, match="has no batch id"):
        Shard.restore(tmp_path)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def test_the_ledger_is_replaced_as_a_whole_and_checked(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "folder" / "ledger.json")
    assert ledger.read() is None
    ledger.write({"batch": 3, "chains": [["a", "b"], []]})
    assert ledger.read() == {"batch": 3, "chains": [["a", "b"], []]}
    whole = ledger.path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        ledger.path.write_bytes(damaged)
        # A blank between two values is no content; everything else is checked.
        if json.loads(whole) != _parsed(bytes(damaged)):
            with pytest.raises(InvalidState, match=r"ledger\.json"):
                ledger.read()
    ledger.path.write_bytes(whole[:-5])
    with pytest.raises(InvalidState, match=r"ledger\.json"):
        ledger.read()


@pytest.mark.parametrize("kind", ["integers", "texts", "objects", "arrow", "codes", "floats"])
def test_keys_have_the_same_shard_in_every_form(kind: str) -> None:
    import pyarrow as pa

    numbers = np.arange(-500, 500)
    texts = [f"sensor {number} ü" for number in numbers]
    column: Any = {
        "integers": numbers.astype(np.int32),
        "floats": numbers.astype(np.float64),
        "texts": texts,
        "objects": np.array(texts, dtype=object),
        "arrow": pa.chunked_array([texts[:1], texts[1:]]),
        "codes": pa.array(texts).dictionary_encode(),
    }[kind]
    plain: Any = numbers.tolist() if kind in ("integers", "floats") else texts
    found = shards_of(column, 7)
    assert found.tolist() == [int(shards_of([key], 7)[0]) for key in plain]
    counts = np.bincount(found, minlength=7)
    assert counts.min() > 100
    assert counts.max() < 190


def test_similar_and_odd_keys_are_spread() -> None:
    for keys in ([str(number) for number in range(4000)], ["x" * number for number in range(4000)], range(4000)):
        counts = np.bincount(shards_of(list(keys), 16), minlength=16)
        assert counts.min() > 150
    assert shards_of([], 3).tolist() == []
    assert shards_of(["", "", "a"], 1).tolist() == [0, 0, 0]
    with pytest.raises(InvalidValue):
        shards_of([1], 0)


def test_a_worker_that_joins_or_leaves_moves_only_its_own_shards() -> None:
    workers = [f"w{number}" for number in range(5)]
    before = owners(500, workers)
    assert set(before) == set(workers)
    for worker in workers:
        after = owners(500, [other for other in workers if other != worker])
        assert all(new == old for old, new in zip(before, after, strict=True) if old != worker)
    after = owners(500, [*workers, "w5"])
    assert {new for old, new in zip(before, after, strict=True) if new != old} == {"w5"}
    assert 40 < after.count("w5") < 140
    with pytest.raises(InvalidValue):
        owners(3, [])
