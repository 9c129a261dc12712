"""A server in a process of its own: `python -m benchmarks.serving_worker KIND PORT FOLDER`.

It prints one JSON object when it is ready, and ends on SIGTERM. KIND is "native" or "python" (millstream with a
native model, or with a learner written in Python), "uvicorn" (a bare ASGI function) or "fastapi".
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.serving_data import POLICY, Learner, native_model

_HEADERS = [(b"content-type", b"application/json")]


def _millstream(kind: str, port: int, folder: Path) -> int:
    from millstream import serve

    model = native_model() if kind == "native" else Learner()
    server = serve.Server(model, data=folder, port=port, policy=POLICY, require_token=True)
    token = server.tokens.create(["predict", "label", "metrics"], "benchmark")
    server.start()
    print(json.dumps({"port": server.port, "token": token}), flush=True)
    return server.serve_forever()


def _asgi() -> Callable[..., Awaitable[None]]:
    """An ASGI function that predicts and stores nothing, with the fastest JSON library that is installed."""
    try:
        import msgspec

        decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
    except ImportError:
        decode, encode = json.loads, lambda value: json.dumps(value).encode()  # type: ignore[assignment]
    learner = Learner()

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        reply = encode({"y": learner.predict_one(decode(body)["x"])})
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": reply})

    return application


def _fastapi() -> Any:
    import fastapi
    import pydantic

    application = fastapi.FastAPI()
    learner = Learner()

    class Example(pydantic.BaseModel):
        x: dict[str, float]

    async def predict(example: Example) -> dict[str, bool]:
        return {"y": learner.predict_one(example.x)}

    # Annotations of local classes are strings that FastAPI cannot resolve.
    predict.__annotations__ = {"example": Example, "return": dict[str, bool]}
    application.post("/v1/models/model/predict")(predict)
    return application


def _uvicorn(kind: str, port: int) -> int:
    import uvicorn

    application = _fastapi() if kind == "fastapi" else _asgi()
    print(json.dumps({"port": port, "token": ""}), flush=True)
    uvicorn.run(
        application,
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        lifespan="off",
        backlog=4096,
    )
    return 0


def main() -> int:
    """Serve until a signal."""
    kind, port, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if kind in ("uvicorn", "fastapi"):
        return _uvicorn(kind, port)
    return _millstream(kind, port, folder)


if __name__ == "__main__":
    sys.exit(main())
