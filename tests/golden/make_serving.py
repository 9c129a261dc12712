"""Write the data folder of a server that later versions must read: `python tests/golden/make_serving.py`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from millstream import linear_model, preprocessing, serve

FOLDER = Path(__file__).parent / "serving_1"


def main() -> None:
    """Serve a model, label 20 of its 21 predictions, name a version after the tenth, and keep the folder."""
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        with serve.Server(model, name="m", data=data, port=0) as server:
            client = serve.Client(server.url)
            for number in range(20):
                client.predict("m", {"v": float(number), "w": float(number % 3)}, id=f"e{number}")
                client.label("m", f"e{number}", number % 2 == 0)
                if number == 9:
                    client.version("m", "first")
            client.predict("m", {"v": 1.0, "w": 2.0}, id="waiting", wait="durable")
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(data, FOLDER, ignore=shutil.ignore_patterns("lock", "*-wal", "*-shm"))


if __name__ == "__main__":
    main()
