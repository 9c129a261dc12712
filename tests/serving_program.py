"""A server in a process of its own, for the tests that kill it: `python serving_program.py SETTINGS`.

The settings are a JSON object. The process prints its port when it is ready, and serves until a signal ends it.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

import millstream
from millstream import base, serve
from millstream.serve.api import health


class Slow(base.Regressor):
    """Takes a second to learn a 2, never returns from a 3, refuses a 13, and predicts what it has counted.

    The feature `wait` is the number of seconds that a prediction takes, and `fail` makes it raise.
    """

    def __init__(self) -> None:
        self.n = 0

    def learn_one(self, x: Any, y: float, w: float = 1.0) -> None:
        """Count."""
        if y == 2:
            time.sleep(1)
        if y == 3:
            threading.Event().wait()
        if y == 13:
            raise RuntimeError("thirteen")
        self.n += 1

    def predict_one(self, x: Any) -> float:
        """Predict the number of examples."""
        if "fail" in x:
            raise RuntimeError("asked to fail")
        time.sleep(x.get("wait", 0.0))
        return float(self.n)


def main(settings: dict[str, Any]) -> int:
    """Serve until a signal."""
    health.STALL = settings.get("stall", health.STALL)
    models: dict[str, Any] = {name: millstream.parse(text) for name, text in settings.get("models", {}).items()}
    if settings.get("slow"):
        models["slow"] = Slow()
    server = serve.Server(
        data=settings["data"],
        models=models,
        port=0,
        policy=settings.get("policy"),
        settings=settings.get("settings"),
        engine_settings=settings.get("engine"),
    )
    server.start()
    print(server.port, flush=True)
    return server.serve_forever()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
