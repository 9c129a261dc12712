"""The folder of a stream: which files restore the state after which batch."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidState, InvalidValue
from millstream.shard import Ledger, StateFiles
from millstream.shard.union import united, united_totals
from millstream.spark.hashing import partition_of

__all__ = ["Checkpoint", "Settings", "load", "local_path", "reshard", "totals"]

#: The number of batches whose state can be restored. Spark repeats at most the last one.
KEPT = 2


def local_path(path: str | os.PathLike[str]) -> Path:
    """A folder that Python can write to; URLs of other file systems are refused."""
    shown = os.fspath(path).removeprefix("file://")
    if "://" in shown:
        raise InvalidValue(
            f"spark: a checkpoint must be a folder that the driver and all executors see, got {quoted(shown)}"
        )
    return Path(shown).resolve()


@dataclass(frozen=True)
class Settings:
    """What must stay the same as long as a checkpoint is used."""

    kind: str
    model: str
    shards: int

    def check(self, found: dict[str, Any], folder: Path) -> None:
        """Refuse a checkpoint that was made with other settings."""
        for name, own in (("kind", self.kind), ("model", self.model)):
            if found.get(name) != own:
                raise InvalidState(f"spark: {quoted(str(folder))} is of {found.get(name)}, got {own}")
        if found.get("shards") != self.shards:
            raise InvalidState(
                f"spark: {quoted(str(folder))} has {found.get('shards')} partitions, got {self.shards}: "
                "keep the number, or change it with millstream.spark.reshard"
            )


@dataclass
class Checkpoint:
    """The state of a stream as the driver knows it.

    `history` has the last batches, each with the files of all shards. The ledger is replaced after all files of a
    batch are on the disk, and files that no batch of the history needs are removed after that.
    """

    folder: Path
    settings: Settings
    history: list[dict[str, Any]] = field(default_factory=list)
    query: str | None = None
    #: Counts the changes of the number of partitions; the first part of the names of files.
    generation: int = 0

    @classmethod
    def open(cls, folder: Path, settings: Settings) -> Checkpoint:
        """The checkpoint of a folder, which may be new."""
        found = Ledger(folder / "state" / "ledger.json").read()
        if found is None:
            return cls(folder, settings)
        settings.check(found, folder)
        return cls(folder, settings, found["history"], found["query"], found["generation"])

    def files(self, shard: int) -> StateFiles:
        return files_of(self.folder, shard)

    @property
    def batch(self) -> int:
        """The last batch that was committed; -1 before the first."""
        return int(self.history[-1]["batch"]) if self.history else -1

    def before(self, batch: int) -> dict[str, Any]:
        """The entry of the batch before `batch`; a batch that does not follow is refused."""
        self._check_query()
        # Spark repeats the last batch or continues; anything else is a checkpoint that was changed by hand.
        if batch == 0 and self.batch <= 0:
            return {"batch": -1, "chains": [[] for _ in range(self.settings.shards)]}
        for entry in self.history:
            if entry["batch"] == batch - 1 and batch >= self.batch:
                return entry
        raise InvalidState(
            f"spark: the stream continues with batch {batch}, but the state in {quoted(str(self.folder))} is "
            f"that after batch {self.batch}: Spark's checkpoint and the state must be kept and removed together"
        )

    def _check_query(self) -> None:
        """A query that has lost its own checkpoint would begin at batch 0 with models that have learned it."""
        try:
            own = json.loads((self.folder / "spark" / "metadata").read_text())["id"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        if self.query not in (None, own):
            raise InvalidState(
                f"spark: the state in {quoted(str(self.folder))} belongs to another query: "
                "Spark's checkpoint was removed without the state"
            )
        self.query = own

    def commit(self, batch: int, chains: list[list[str]], **more: Any) -> None:
        """Make the state of a batch the present one, then remove files that are no longer needed."""
        entries = [entry for entry in self.history if entry["batch"] < batch]
        self.history = [*entries, {"batch": batch, "chains": chains, **more}][-KEPT:]
        content = {
            "kind": self.settings.kind,
            "model": self.settings.model,
            "shards": self.settings.shards,
            "query": self.query,
            "generation": self.generation,
            "history": self.history,
        }
        Ledger(self.folder / "state" / "ledger.json").write(content)
        for shard in range(self.settings.shards):
            keep = {name for entry in self.history for name in entry["chains"][shard]}
            self.files(shard).prune(keep, (self.generation, batch))


def files_of(folder: Path, shard: int, *, snapshot_every: int = 16) -> StateFiles:
    """The files of one shard."""
    return StateFiles(folder / "state" / f"shard-{shard:05}", snapshot_every=snapshot_every)


def _opened(checkpoint: str | os.PathLike[str], kinds: tuple[str, ...]) -> tuple[Path, dict[str, Any]]:
    folder = local_path(checkpoint)
    found = Ledger(folder / "state" / "ledger.json").read()
    if found is None or not found["history"]:
        raise InvalidState(f"spark: there is no state in {quoted(str(folder))}")
    if found["kind"] not in kinds:
        raise InvalidState(f"spark: {quoted(str(folder))} is of {found['kind']}, which cannot be used here")
    return folder, found


def _shards(folder: Path, found: dict[str, Any]) -> list[Any]:
    """The models of all shards. If the stream goes on meanwhile and removes files, those of a later batch."""
    while True:
        chains = found["history"][-1]["chains"]
        try:
            return [files_of(folder, shard).read(chain)[0] for shard, chain in enumerate(chains) if chain]
        except InvalidState:
            later = Ledger(folder / "state" / "ledger.json").read()
            if later is None or later["history"] == found["history"]:
                raise
            found.update(later)


def load(checkpoint: str | os.PathLike[str]) -> Any:
    """The state of a stream after its last batch, as a local model.

    The partitions of `keyed` become one `compose.Keyed`, with exactly the models that the stream has learned;
    limits of the keyed models count for all partitions together from then on, and the counts of `totals` begin
    anew: `millstream.spark.totals` has those of the stream. The result of `merged` is the global model, that of
    `ensemble` the list of its members.

    Needs no Spark. The stream may run meanwhile.
    """
    folder, found = _opened(checkpoint, ("keyed", "merged", "ensemble"))
    parts = _shards(folder, found)
    if found["kind"] == "ensemble":
        return parts
    if found["kind"] == "merged":
        return parts[0]
    if not parts:
        raise InvalidState(f"spark: no row was learned yet in {quoted(str(folder))}")
    whole = united(parts)
    whole.n_threads = None
    whole.position = {"batch": found["history"][-1]["batch"]}
    return whole


def totals(checkpoint: str | os.PathLike[str]) -> dict[str, Any]:
    """`compose.Keyed.totals` of all partitions of a stream of `keyed`, in the order of keys."""
    folder, found = _opened(checkpoint, ("keyed",))
    parts = _shards(folder, found)
    if not parts:
        raise InvalidState(f"spark: no row was learned yet in {quoted(str(folder))}")
    return united_totals(parts)


def reshard(checkpoint: str | os.PathLike[str], partitions: int) -> None:
    """Change the number of partitions of a stream of `keyed` that does not run.

    The models are distributed over the new partitions by the hash of their keys. Models with a `ttl` are refused,
    because the time of their last example would be lost, and so are those with `max_keys`.
    """
    folder, found = _opened(checkpoint, ("keyed",))
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise InvalidValue(f"spark: partitions must be a positive integer, got {quoted(partitions)}")
    batch = found["history"][-1]["batch"]
    if (folder / "spark").is_dir() and not (folder / "spark" / "commits" / str(batch)).is_file():
        raise InvalidState(
            f"spark: batch {batch} in {quoted(str(folder))} is not finished: run the stream once more with "
            f"{found['shards']} partitions"
        )
    old = _shards(folder, found)
    if old and (old[0].ttl is not None or old[0].max_keys is not None):
        raise InvalidValue(
            "spark: models with ttl or max_keys cannot be moved: when they learned last would be lost"
        )
    new = [old[0].clone() for _ in range(partitions)] if old else []
    for part in old:
        for key in part:
            new[partition_of(key, partitions)][key] = part[key]
    # The files get names of their own: the old state is valid until the ledger is replaced.
    generation = 1 + found["generation"]
    rows = sum(part.position["note"]["rows"] for part in old)
    skipped = sum(part.position["note"]["skipped"] for part in old)
    chains = []
    for shard, part in enumerate(new):
        note = {"rows": rows if shard == 0 else 0, "skipped": skipped if shard == 0 else 0}
        position = {"epoch": generation, "seq": batch, "note": note}
        chains.append(files_of(folder, shard).write(part, (generation, batch), [], position))
    entry = {"batch": batch, "chains": chains or [[] for _ in range(partitions)]}
    content = {**found, "shards": partitions, "generation": generation, "history": [entry]}
    Ledger(folder / "state" / "ledger.json").write(content)
    for shard in range(max(partitions, found["shards"])):
        keep = set(chains[shard]) if shard < len(chains) else set()
        files_of(folder, shard).prune(keep, (generation, batch))
