"""What all streams share: pyspark itself, columns, and the start of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from millstream._echo import quoted
from millstream.errors import InvalidType, InvalidValue, MissingPackage, UnknownName

__all__ = ["as_list", "check_columns", "check_stream", "default_partitions", "feature_columns", "start"]


def import_functions() -> Any:
    """`pyspark.sql.functions`."""
    try:
        from pyspark.sql import functions
    except ImportError:
        raise MissingPackage('spark: pyspark is not installed: pip install "millstream[spark]"') from None
    return functions


def check_stream(stream: Any) -> None:
    """Refuse anything but a streaming data frame of a classic session."""
    import_functions()
    if ".connect." in type(stream).__module__:
        raise InvalidType("spark: Spark Connect is not supported, because foreachBatch would run elsewhere")
    if not getattr(stream, "isStreaming", False):
        raise InvalidType(f"spark: a streaming data frame is required, got {type(stream).__name__}")


def as_list(names: str | Iterable[str] | None) -> list[str]:
    """Names of columns, given as one, several or none."""
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def check_columns(stream: Any, names: Iterable[str | None]) -> None:
    """Refuse names that are no columns."""
    for name in names:
        if name is not None and name not in stream.columns:
            present = ", ".join(quoted(column) for column in stream.columns[:6])
            raise UnknownName(f"spark: there is no column {quoted(name)} among {present}")


def feature_columns(stream: Any, given: Iterable[str] | None, others: Iterable[str | None]) -> list[str]:
    """The columns that the models see: those given, or all but the others."""
    if given is not None:
        chosen = as_list(given)
        check_columns(stream, chosen)
        return chosen
    return [name for name in stream.columns if name not in set(others)]


def default_partitions(stream: Any, partitions: int | None) -> int:
    """The given number of partitions, or one for each core."""
    if partitions is None:
        return int(stream.sparkSession.sparkContext.defaultParallelism)
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise InvalidValue(f"spark: partitions must be a positive integer, got {quoted(partitions)}")
    return partitions


def start(stream: Any, folder: Path, batches: Callable[[Any, int], None], trigger: dict[str, Any] | None) -> Any:
    """Start the query. Its checkpoint and the state are in one folder, to be kept and removed together."""
    writer = stream.writeStream.foreachBatch(batches).option("checkpointLocation", str(folder / "spark"))
    return (writer.trigger(**trigger) if trigger else writer).start()
