"""A process that reads a socket is killed between any two steps: nothing is lost or doubled."""

from __future__ import annotations

import threading

import pytest

from millstream import stream
from stream_messages import readings
from stream_process import LONG, MOMENTS, check_model, died, finished

MESSAGES = 40
ROUNDS = 7 if LONG else 1


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_killed_between_two_steps(tmp_path, turn):
    settings = {
        "source": "socket",
        "address": f"unix:{tmp_path}/s",
        "options": {"idle": 1.0},
        "checkpoint": str(tmp_path / "c"),
        "every": 0,
    }

    def write():
        with stream.write_socket(settings["address"], writer="w", patience=120) as sink:
            for number in range(MESSAGES):
                sink.write(readings(number))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    kills = 0
    for number, (step, after) in enumerate(MOMENTS):
        if step != "sink":
            kills += died(**settings, die=(step, 1 + (number + turn) % 4, after))
    finished(**settings)
    thread.join(timeout=60)
    assert not thread.is_alive()
    check_model(tmp_path / "c", range(MESSAGES))
    print(f"Socket: learner killed {kills} times between two steps, 0 of {MESSAGES} messages lost or doubled")
    assert kills >= 5
