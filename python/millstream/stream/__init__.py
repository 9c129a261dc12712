"""Streams: files, tables, feeds and databases, larger than memory, as chunks of columns."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from millstream._sparse import Sparse
from millstream.stream.base import Stream
from millstream.stream.chunk import Chunk

if TYPE_CHECKING:
    from millstream.stream.arff import read_arff as read_arff
    from millstream.stream.checkpoint import Checkpoint as Checkpoint
    from millstream.stream.columnar import read_arrow as read_arrow
    from millstream.stream.columnar import read_parquet as read_parquet
    from millstream.stream.cost_examples import CostExamples as CostExamples
    from millstream.stream.cost_files import CostFile as CostFile
    from millstream.stream.cost_files import CostRows as CostRows
    from millstream.stream.csv import read_csv as read_csv
    from millstream.stream.examples import from_examples as from_examples
    from millstream.stream.feature_names import FeatureNames as FeatureNames
    from millstream.stream.formats import open as open  # noqa: A004
    from millstream.stream.formats import read_stdin as read_stdin
    from millstream.stream.frames import from_arrow as from_arrow
    from millstream.stream.frames import from_numpy as from_numpy
    from millstream.stream.frames import from_pandas as from_pandas
    from millstream.stream.frames import from_polars as from_polars
    from millstream.stream.json_lines import read_json_lines as read_json_lines
    from millstream.stream.kafka_sink import write_kafka as write_kafka
    from millstream.stream.kafka_source import read_kafka as read_kafka
    from millstream.stream.libsvm import read_libsvm as read_libsvm
    from millstream.stream.message_source import MessageSource as MessageSource
    from millstream.stream.messages import Origin as Origin
    from millstream.stream.partition_state import DeadLetter as DeadLetter
    from millstream.stream.process_progress import ProcessProgress as ProcessProgress
    from millstream.stream.processing import Processed as Processed
    from millstream.stream.processing import process as process
    from millstream.stream.profiling import Profile as Profile
    from millstream.stream.profiling import profile as profile
    from millstream.stream.redis_sink import write_redis as write_redis
    from millstream.stream.redis_source import read_redis as read_redis
    from millstream.stream.river import iter_arff as iter_arff
    from millstream.stream.river import iter_array as iter_array
    from millstream.stream.river import iter_csv as iter_csv
    from millstream.stream.river import iter_frame as iter_frame
    from millstream.stream.river import iter_libsvm as iter_libsvm
    from millstream.stream.river import iter_pandas as iter_pandas
    from millstream.stream.river import iter_polars as iter_polars
    from millstream.stream.river import iter_sklearn_dataset as iter_sklearn_dataset
    from millstream.stream.river import iter_sql as iter_sql
    from millstream.stream.river import shuffle as shuffle
    from millstream.stream.river import simulate_qa as simulate_qa
    from millstream.stream.round_classification import from_classification as from_classification
    from millstream.stream.round_files import RoundFile as RoundFile
    from millstream.stream.round_files import read_dsjson as read_dsjson
    from millstream.stream.round_writers import write_dsjson as write_dsjson
    from millstream.stream.round_writers import write_vw as write_vw
    from millstream.stream.sink import Sink as Sink
    from millstream.stream.socket_sink import write_socket as write_socket
    from millstream.stream.socket_source import read_socket as read_socket
    from millstream.stream.sparse_text import SparseText as SparseText
    from millstream.stream.sql import read_sql as read_sql
    from millstream.stream.sql import read_sqlite as read_sqlite
    from millstream.stream.table import TableStream as TableStream
    from millstream.stream.task_streams import Task as Task
    from millstream.stream.task_streams import Tasks as Tasks
    from millstream.stream.task_streams import tasks as tasks
    from millstream.stream.vowpal_wabbit import hash_feature as hash_feature
    from millstream.stream.vowpal_wabbit import read_vw as read_vw

    #: Short names of the sources of messages.
    kafka, redis, socket = read_kafka, read_redis, read_socket

#: Modules of the readers. Each is imported when first used, because importing Arrow is slow.
_READERS = {
    "Checkpoint": "checkpoint",
    "CostExamples": "cost_examples",
    "CostFile": "cost_files",
    "CostRows": "cost_files",
    "DeadLetter": "partition_state",
    "FeatureNames": "feature_names",
    "MessageSource": "message_source",
    "Origin": "messages",
    "ProcessProgress": "process_progress",
    "Processed": "processing",
    "Profile": "profiling",
    "RoundFile": "round_files",
    "Sink": "sink",
    "SparseText": "sparse_text",
    "TableStream": "table",
    "Task": "task_streams",
    "Tasks": "task_streams",
    "from_arrow": "frames",
    "from_classification": "round_classification",
    "from_examples": "examples",
    "from_numpy": "frames",
    "from_pandas": "frames",
    "from_polars": "frames",
    "hash_feature": "vowpal_wabbit",
    "iter_arff": "river",
    "iter_array": "river",
    "iter_csv": "river",
    "iter_frame": "river",
    "iter_libsvm": "river",
    "iter_pandas": "river",
    "iter_polars": "river",
    "iter_sklearn_dataset": "river",
    "iter_sql": "river",
    "open": "formats",
    "process": "processing",
    "profile": "profiling",
    "read_arff": "arff",
    "read_arrow": "columnar",
    "read_csv": "csv",
    "read_dsjson": "round_files",
    "read_json_lines": "json_lines",
    "read_kafka": "kafka_source",
    "read_libsvm": "libsvm",
    "read_parquet": "columnar",
    "read_redis": "redis_source",
    "read_socket": "socket_source",
    "read_sql": "sql",
    "read_sqlite": "sql",
    "read_stdin": "formats",
    "read_vw": "vowpal_wabbit",
    "shuffle": "river",
    "simulate_qa": "river",
    "write_dsjson": "round_writers",
    "tasks": "task_streams",
    "write_kafka": "kafka_sink",
    "write_redis": "redis_sink",
    "write_socket": "socket_sink",
    "write_vw": "round_writers",
}

#: Short names of the sources of messages.
_SHORT = {"kafka": "read_kafka", "redis": "read_redis", "socket": "read_socket"}

__all__ = ["Chunk", "Sparse", "Stream", *_READERS]


def __getattr__(name: str) -> Any:
    name = _SHORT.get(name, name)
    if name in _READERS:
        return getattr(importlib.import_module(f"millstream.stream.{_READERS[name]}"), name)
    from millstream._other_names import unknown_name

    return unknown_name(__name__)(name)


def __dir__() -> list[str]:
    return sorted(__all__)
