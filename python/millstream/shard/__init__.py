"""Shards: the part of a model that one process holds, with what it has learned kept in files.

A `Shard` is the unit of scale-out. Partitions of Spark, actors of Ray and partitions of a broker each hold one.
"""

from millstream.shard.files import StateFiles
from millstream.shard.ledger import Ledger
from millstream.shard.routing import owners, shards_of
from millstream.shard.shard import Shard, StaleEpoch

__all__ = ["Ledger", "Shard", "StaleEpoch", "StateFiles", "owners", "shards_of"]
