"""Keyed models in Apache Flink: one model per sensor in Flink's own keyed state.

Flink 2.3 pins older versions of pyarrow and pandas than the rest of the project uses, so it runs in an
environment of its own, with Java 11 or 17:

    python3.11 -m venv .venv/flink
    .venv/flink/bin/python -m pip install apache-flink==2.3.0 rich
    PYTHONPATH=python .venv/flink/bin/python examples/flink/sensors.py

The state of a key is its model as bytes. Flink restores it from its checkpoints, together with the positions of
the sources: exactly once, without an adapter. Each row decodes and encodes its model, which takes longer than
learning it; `millstream.spark` and `millstream.ray` hold many models in one object instead.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Scorer(KeyedProcessFunction):
    """Scores each value with the model of its sensor, then learns it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state, in the worker."""
        descriptor = ValueStateDescriptor("model", Types.PICKLED_BYTE_ARRAY())
        self.state = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        """One row: number, sensor, value."""
        import millstream
        from millstream import anomaly

        saved = self.state.value()
        model = anomaly.GaussianScorer(grace_period=20) if saved is None else millstream.from_bytes(saved)
        number, sensor, reading = value
        score = model.score_one({"value": reading})
        model.learn_one({"value": reading})
        self.state.update(model.to_bytes())
        if score > 1 - 1e-12:
            yield f"row {number}: sensor {sensor} reads {reading:.1f}"


def main() -> None:
    """Score 3,000 readings of 10 sensors, of which one has a fault."""
    stream = random.Random(0)
    rows = [(number, number % 10, number % 10 + stream.gauss(0, 1)) for number in range(3000)]
    rows[2507] = (2507, 7, 20.0)
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    # Otherwise workers run the first `python` of the path.
    environment.set_python_executable(sys.executable)
    environment.enable_checkpointing(1000)
    readings = environment.from_collection(rows, Types.TUPLE([Types.INT(), Types.INT(), Types.DOUBLE()]))
    readings.key_by(lambda row: row[1]).process(Scorer(), Types.STRING()).print()
    environment.execute("sensors")


if __name__ == "__main__":
    main()
