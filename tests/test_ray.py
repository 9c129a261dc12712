"""`millstream.ray`: the same models as in one process, whoever dies.

With MILLSTREAM_FAULTS=long there are 20 kills of actors, 10 zombies and 10 kills of the coordinator, otherwise a
few.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

# Not imported: `start_local` must come before.
if importlib.util.find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)

import ray_streams as streams
from millstream import anomaly, compose, linear_model, tree
from millstream import ray as millstream_ray
from millstream.errors import InvalidState, InvalidType, InvalidValue, UnknownName
from millstream.shard import StaleEpoch

pytestmark = [pytest.mark.ray, pytest.mark.slow]

LONG = os.environ.get("MILLSTREAM_FAULTS") == "long"
KILLS, ZOMBIES, COORDINATORS = (20, 10, 10) if LONG else (4, 3, 2)
PATIENCE = 600.0


@pytest.fixture(scope="module", autouse=True)
def ray() -> Any:
    millstream_ray.start_local(workers=4, object_store_memory=200_000_000)
    import ray

    yield ray
    ray.shutdown()


def pool(folder: Path, **settings: Any) -> Any:
    return millstream_ray.KeyedPool(streams.model(), folder, **{"cpus": 0.5, "snapshot_every": 5, **settings})


@pytest.mark.parametrize("texts", [False, True])
def test_models_and_predictions_are_those_of_one_process(tmp_path: Path, texts: bool) -> None:
    tables = [streams.table(number, 700, texts=texts) for number in range(12)]
    local, answers = streams.learned_here(tables)
    with pool(tmp_path) as found:
        stepped = []
        for number, table in enumerate(tables):
            if number % 3 == 2:
                found.learn_many(table, "y")
                stepped += answers[number * 700 : (number + 1) * 700]
            else:
                stepped += list(found.step_many(table, "y"))
        assert stepped == answers
        X = tables[0].drop_columns(["y"])
        assert list(found.predict_many(X)) == list(local.predict_many(X))
        assert streams.same_models(found.collect(), local)
        found.commit(12)
    with pool(tmp_path, workers=3) as found:
        assert found.position == 12
        assert streams.same_models(found.collect(), local)
        more = streams.table(12, 500, texts=texts)
        found.learn_many(more.to_pandas(), "y")
        assert streams.same_models(found.collect(), streams.learned_here([*tables, more])[0])


def test_every_port_is_on_the_loopback_address(ray: Any) -> None:
    listening = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    session = ray._private.worker._global_node.address_info["session_dir"]
    own = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            status = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Ray's servers name the session; its workers are children of one that does.
        if session in command or int(status[1]) == os.getpid() or int(path.name) == os.getpid():
            own.add(path.name)
    own |= {
        path.name
        for path in Path("/proc").glob("[0-9]*")
        if (path / "stat").exists() and (path / "stat").read_text().rpartition(")")[2].split()[1] in own
    }
    addresses = [
        line.split()[3] for line in listening.splitlines() if any(f"pid={process}," in line for process in own)
    ]
    assert len(addresses) >= 4
    assert [address for address in addresses if "127.0.0.1" not in address and "[::1]" not in address] == []


def test_an_actor_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, ray: Any) -> None:
    batches, rows = 3 * KILLS + 5, 1000
    tables = [streams.table(number, rows) for number in range(batches)]
    local, answers = streams.learned_here(tables)
    chance = np.random.default_rng(3)
    kills = 0
    stepped: list[Any] = []
    with pool(tmp_path) as found:
        processes = {}
        for number, table in enumerate(tables):
            if number % 3 == 1 and kills < KILLS:
                worker = found.workers[int(chance.integers(2))]
                processes[worker] = ray.get(found._actors[worker].__ray_call__.remote(lambda _: os.getpid()))
                if kills % 2:
                    # While batches are under way.
                    found.learn_many(table, "y")
                    time.sleep(0.01 * chance.random())
                    os.kill(processes[worker], signal.SIGKILL)
                    kills += 1
                    stepped += answers[number * rows : (number + 1) * rows]
                    continue
                os.kill(processes[worker], signal.SIGKILL)
                kills += 1
            stepped += list(found.step_many(table, "y"))
        whole = found.collect()
    print(f"Ray actor killed {kills} times: {whole.learned:,} of {batches * rows:,} rows learned")
    assert kills == KILLS
    assert whole.learned == batches * rows
    assert stepped == answers
    assert streams.same_models(whole, local)


def test_a_zombie_of_an_old_epoch_is_refused(tmp_path: Path, ray: Any) -> None:
    tables = [streams.table(number, 300) for number in range(ZOMBIES + 1)]
    local, _ = streams.learned_here(tables)
    refused = 0
    zombies = []
    with pool(tmp_path, cpus=0.1) as found:
        for number, table in enumerate(tables):
            found.step_many(table, "y")
            if number == ZOMBIES:
                break
            worker = found.workers[number % 2]
            # The pool takes it for dead, but it is alive.
            zombie, epoch = found._actors.pop(worker), found._epochs[worker]
            sent = found._kept[-1] if found._kept else None
            found._revive(worker)
            new, now = found._actors[worker], found._epochs[worker]
            assert now > epoch
            if sent is not None and worker in sent.rows:
                data, arguments = sent.rows[worker]
                # A call of the old epoch to the new process, and of the new epoch to the zombie.
                for actor, called in ((new, epoch), (zombie, now)):
                    with pytest.raises(StaleEpoch, match="one of them has ended"):
                        ray.get(actor.run.remote(called, sent.seq + 1, data, *arguments))
                    refused += 1
                # The zombie learns and writes in its own epoch; its files are not used.
                parts = [(shard, sent.seq, start, stop) for shard, _, start, stop in arguments[0]]
                ray.get(zombie.run.remote(epoch, sent.seq + 5, data, parts, None, "raise"))
            ray.get(zombie.save.remote(epoch))
            zombies.append(zombie)
            if number % 3 == 2:
                found.commit(number)
        whole = found.collect()
        found.commit(99)
        for zombie in zombies:
            ray.kill(zombie)
    assert refused >= ZOMBIES
    assert whole.learned == 300 * (ZOMBIES + 1)
    assert streams.same_models(whole, local)
    with pool(tmp_path) as found:
        assert streams.same_models(found.collect(), local)
    print(f"Ray zombie: {len(zombies)} processes of old epochs, {refused} calls refused, 0 rows lost, 0 doubled")


@pytest.mark.parametrize("kind", ["keyed", "merged"])
def test_a_coordinator_that_is_killed_before_its_commit(tmp_path: Path, kind: str) -> None:
    kills = COORDINATORS // 2
    batches, rows = 4 * (kills + 1), 500
    for kill in [*range(kills), -1]:
        # Each time one commit more is reached.
        command = [sys.executable, streams.__file__, tmp_path, kind, batches, rows, 1 if kill > 0 else kill]
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == (0 if kill == -1 else -signal.SIGKILL), done.stderr
        assert f"open {4 * max(0, kill - 1) or None}" in done.stdout or kill == -1
    tables = [streams.table(number, rows) for number in range(batches)]
    if kind == "keyed":
        with pool(tmp_path) as found:
            assert found.position == batches
            whole = found.collect()
        assert streams.same_models(whole, streams.learned_here(tables)[0])
    else:
        model = linear_model.LeastSquares()
        for table in tables:
            model.learn_many(table.drop_columns(["y"]), table["y"])
        with millstream_ray.MergedPool(linear_model.LeastSquares(), tmp_path, cpus=0.5) as merged:
            assert merged.position == batches
            whole = merged.model
        X = tables[0].drop_columns(["y"])
        np.testing.assert_allclose(whole.predict_many(X), model.predict_many(X), rtol=1e-9)
    assert whole.learned == batches * rows
    print(f"Ray coordinator ({kind}) killed {kills} times: {whole.learned:,} rows of {batches * rows:,}")


def test_workers_that_join_and_leave_move_only_their_shards(tmp_path: Path) -> None:
    tables = [streams.table(number, 400) for number in range(6)]
    with pool(tmp_path, cpus=0.5) as found:
        found.step_many(tables[0], "y")
        before, epochs = list(found._owners), dict(found._epochs)
        added = found.add_worker()
        moved = {new for old, new in zip(before, found._owners, strict=True) if old != new}
        assert moved == {added}
        found.step_many(tables[1], "y")
        found.learn_many(tables[2], "y")
        found.remove_worker("worker-0")
        assert found.workers == ["worker-1", added]
        found.learn_many(tables[3], "y")
        for _ in range(2):
            found.add_worker()
        found.learn_many(tables[4], "y")
        found.remove_worker(added)
        found.learn_many(tables[5], "y")
        assert streams.same_models(found.collect(), streams.learned_here(tables)[0])
        totals = found.totals()
        assert totals["learned"].sum() == 2400
        assert found._epochs["worker-1"] >= epochs["worker-1"]
        with pytest.raises(UnknownName, match="there is no worker 'x'"):
            found.remove_worker("x")


def test_a_slow_shard_slows_the_sender_and_changes_nothing(tmp_path: Path, ray: Any) -> None:
    tables = [streams.table(number, 400) for number in range(30)]
    with pool(tmp_path, max_pending=3, max_kept_bytes=100_000) as found:
        slow = found._actors["worker-0"]

        def slower(worker: Any) -> None:
            import time

            from millstream.ray import worker as module

            unpacked = module.unpacked

            def delayed(data: Any) -> Any:
                time.sleep(0.05)
                return unpacked(data)

            module.unpacked = delayed

        ray.get(slow.__ray_call__.remote(slower))
        most_pending = most_kept = 0
        started = time.monotonic()
        for table in tables:
            found.learn_many(table, "y")
            most_pending = max(most_pending, len(found._pending))
            most_kept = max(most_kept, sum(sent.bytes for sent in found._kept))
        found.flush()
        # It was slow: each batch has rows of its shards.
        assert time.monotonic() - started > 30 * 0.05
        assert most_pending <= 3
        assert most_kept <= 100_000
        assert streams.same_models(found.collect(), streams.learned_here(tables)[0])


def test_a_bad_row_undoes_its_batch_in_all_shards(tmp_path: Path) -> None:
    tables = [streams.table(number, 300) for number in range(5)]
    rows = tables[2].to_pydict()
    rows["y"][7] = None
    bad = pa.table(rows)
    good = [tables[0], tables[1], tables[3], tables[4]]
    with pool(tmp_path, snapshot_every=100) as found:
        found.step_many(tables[0], "y")
        found.learn_many(tables[1], "y")
        with pytest.raises((InvalidValue, InvalidType), match="^row 7: ") as caught:
            found.step_many(bad, "y")
        assert caught.value.row == 7
        found.learn_many(bad, "y")
        found.learn_many(tables[3], "y")
        with pytest.raises((InvalidValue, InvalidType), match="^row 7: "):
            found.flush()
        found.learn_many(tables[4], "y")
        assert streams.same_models(found.collect(), streams.learned_here(good)[0])
        found.learn_many(bad, "y", on_error="skip")
        found.flush()
        assert found.skipped == 1
        assert found.collect().learned == 1499


def test_models_without_a_target_and_empty_batches(tmp_path: Path) -> None:
    scorer = compose.Keyed(anomaly.GaussianScorer(grace_period=5), key="sensor")
    tables = [streams.table(number, 300).select(["sensor", "x"]) for number in range(3)]
    with millstream_ray.KeyedPool(scorer, tmp_path, cpus=0.5) as found:
        for table in tables:
            np.testing.assert_array_equal(found.step_many(table), scorer.step_many(table))
        assert len(found.step_many(tables[0].slice(0, 0))) == 0
        np.testing.assert_array_equal(found.score_many(tables[0]), scorer.score_many(tables[0]))


def test_a_merged_model_is_that_of_one_process(tmp_path: Path) -> None:
    tables = [streams.table(number, 300) for number in range(9)]
    model = linear_model.LeastSquares()
    with millstream_ray.MergedPool(model, tmp_path, workers=2, cpus=0.5, snapshot_every=2) as found:
        for number, table in enumerate(tables):
            found.learn_many(table, "y")
            if number == 4:
                process = found._ray.get(found._actors["worker-1"].__ray_call__.remote(lambda _: os.getpid()))
                os.kill(process, signal.SIGKILL)
        whole = found.model
    for table in tables:
        model.learn_many(table.drop_columns(["y"]), table["y"])
    assert whole.learned == 2700
    X = tables[0].drop_columns(["y"])
    np.testing.assert_allclose(whole.predict_many(X), model.predict_many(X), rtol=1e-9)


def test_a_damaged_state_is_named_and_not_loaded(tmp_path: Path) -> None:
    with pool(tmp_path) as found:
        found.learn_many(streams.table(0, 300), "y")
        found.commit(1)
    path = sorted(tmp_path.glob("shard-*/*.state"))[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(InvalidState, match=path.name):
        pool(tmp_path).close()
    path.write_bytes(whole)
    with pool(tmp_path) as found:
        assert found.collect().learned == 300


def test_wrong_calls_are_refused_in_one_line(tmp_path: Path) -> None:
    known = streams.model()
    known.learn_one({"sensor": 1, "x": 1.0, "z": 1.0}, 1)
    with pytest.raises(InvalidType, match=r"a compose\.Keyed .* is required"):
        millstream_ray.KeyedPool(linear_model.LogisticRegression(), tmp_path)
    with pytest.raises(InvalidValue, match="must have learned no keys"):
        millstream_ray.KeyedPool(known, tmp_path)
    with pytest.raises(InvalidValue, match="workers must be a positive integer"):
        millstream_ray.KeyedPool(streams.model(), tmp_path, 0)
    with pytest.raises(InvalidValue, match="cannot be merged"):
        millstream_ray.MergedPool(tree.HoeffdingTreeClassifier(), tmp_path)
    with pool(tmp_path) as found:
        with pytest.raises(UnknownName, match="there is no column 'sensor' for the key"):
            found.learn_many(pa.table({"x": [1.0]}), [1])
        with pytest.raises(UnknownName, match="there is no column 'q'"):
            found.learn_many(streams.table(0, 3), "q")
        with pytest.raises(InvalidType, match="rows must be an Arrow table or a data frame, got ndarray"):
            found.learn_many(np.ones((2, 3)), [1, 0])
        with pytest.raises(InvalidValue, match="there are 3 rows and 2 targets"):
            found.learn_many(streams.table(0, 3).drop_columns(["y"]), [1, 0])
        with pytest.raises(InvalidValue, match='must be "raise" or "skip"'):
            found.learn_many(streams.table(0, 3), "y", on_error="stop")
        found.learn_many(streams.table(0, 30), "y")
        found.commit("here")
        # Another process opens the same folder: this one may not write any more.
        with pool(tmp_path) as heir:
            with pytest.raises(StaleEpoch, match="another process has taken over"):
                found.commit("there")
            assert heir.position == "here"
    with pytest.raises(InvalidState, match="has 16 shards, got 4"):
        pool(tmp_path, shards=4)
    other = compose.Keyed(linear_model.LogisticRegression(), key="sensor")
    with pytest.raises(InvalidState, match="is of Keyed"):
        millstream_ray.KeyedPool(other, tmp_path)


def test_the_code_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parent.parent / "docs" / "scale_out.md").read_text()
    section = page.split("\n## Ray\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```py\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)
    # Ray runs already.
    code = re.sub(r"^millstream_ray\.start_local.*$", "", code, flags=re.MULTILINE)
    exec(code, {"folder": tmp_path, "tables": [streams.table(number, 100) for number in range(12)]})
    assert capsys.readouterr().out == "1200 12\n"
