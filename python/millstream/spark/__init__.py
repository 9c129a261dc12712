"""Models that learn in Spark Structured Streaming.

`keyed` learns one model per key, in the partitions of the stream; `merged` one global model, from partial models
of the partitions; `ensemble` several models, each in a task of its own. What was learned is committed together
with the batch id, so that a batch that Spark repeats is not learned twice. pyspark is imported when a stream
starts.
"""

from millstream.spark.checkpoint import load, reshard, totals
from millstream.spark.ensemble import ensemble
from millstream.spark.keyed import keyed
from millstream.spark.merged import merged

__all__ = ["ensemble", "keyed", "load", "merged", "reshard", "totals"]
