"""`millstream serve`: serve predictions over HTTP, and learn from labels when they arrive."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millstream._core import parse_json
from millstream._echo import plain, quoted
from millstream.cli import show
from millstream.cli.errors import UsageError
from millstream.cli.models import is_saved, model_of
from millstream.cli.options import OK, QUIET, Command, Option, grouped, port, positive
from millstream.errors import MillstreamError

__all__ = ["COMMAND"]


def main(given: Namespace) -> int:
    """Run the command."""
    if given.create_token or given.revoke_token or given.list_tokens:
        return _change_tokens(given)
    from millstream.serve import Server

    models = _models(given)
    _check(given, models)
    policy = {
        name: value
        for name, value in (
            ("window", given.window),
            ("early_window", given.early_window),
            ("default_label", None if given.default_label is None else _label(given.default_label)),
            ("aggregate", given.aggregate),
            ("learn_when", given.learn_when),
            ("late", given.late),
        )
        if value is not None
    }
    settings = {
        "max_connections": given.max_connections,
        "max_body_bytes": given.max_body,
        "threads": given.threads,
    }
    server = Server(
        data=given.data,
        models=models,
        host=given.host,
        port=given.port,
        policy=policy,
        metrics=given.metric,
        retention=_retention(given),
        require_token=given.require_token or None,
        salvage=given.salvage,
        skip_records=given.skip_record or (),
        settings={name: value for name, value in settings.items() if value is not None},
    )
    _report_recovery(server, given)
    server.start()
    known = sorted(server.engine.state.by_name)
    if not known:
        server.stop()
        raise _no_model(given)
    show.remark(f"serving {', '.join(known)} at {server.url}  (dashboard: {server.url}/)", given.quiet)
    if given.demo:
        from millstream.serve.demo import start_demo

        start_demo(server, given.demo_rate)
    return server.serve_forever()


def _label(text: str) -> bool | float | str:
    """A label of the command line: JSON, such as false or 0.5; other text is a string."""
    try:
        value = parse_json(text)
    except MillstreamError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _check(given: Namespace, models: dict[str, Any]) -> None:
    """Refuse what cannot be served before anything is opened, so that no new folder is left behind."""
    from millstream.serve.address import check_address, missing_tokens
    from millstream.serve.folder import is_data_folder
    from millstream.serve.origin import is_loopback

    if not is_data_folder(given.data):
        if not models:
            raise _no_model(given)
        if given.require_token or not is_loopback(given.host):
            raise missing_tokens(given.host, given.require_token)
    check_address(given.host, given.port)


def _no_model(given: Namespace) -> UsageError:
    return UsageError(f"no model given, and {given.data} has none: millstream serve MODEL --data {given.data}")


def _retention(given: Namespace) -> Any:
    if given.retain_age is None and given.retain_bytes is None:
        return None
    from millstream.serve import Retention

    return Retention(given.retain_age, given.retain_bytes)


def _change_tokens(given: Namespace) -> int:
    """Revoke, create and list tokens. A server may use the folder meanwhile, and follows within two seconds."""
    from millstream.serve.folder import DataFolder, is_data_folder
    from millstream.serve.tokens import DEFAULT_SCOPES, Tokens

    if given.create_token and not is_data_folder(given.data):
        DataFolder(given.data).close()
    tokens = Tokens(DataFolder(given.data, read_only=True).tokens, required=False)
    for name in given.revoke_token or ():
        removed = tokens.revoke(name)
        if not removed:
            known = ", ".join(sorted({quoted(each["name"]) for each in tokens.shown()})) or "none"
            raise UsageError(f"no token named {quoted(name)}; the tokens of {given.data} are: {known}")
        show.remark(f"revoked {show.counted(removed, 'token')} named {quoted(name)}", given.quiet)
    if given.revoke_token and not len(tokens) and not given.create_token:
        show.remark(
            f"{given.data} has no tokens left: after a restart, a server on a loopback address accepts requests "
            "without a token, unless --require-token is given",
            given.quiet,
        )
    for text in given.create_token or ():
        name, colon, scopes = text.partition(":")
        if not name:
            raise UsageError("--create-token needs a name: --create-token NAME, or NAME:SCOPES")
        chosen = [scope for scope in scopes.split(",") if scope] if colon else DEFAULT_SCOPES
        show.say(tokens.create(chosen, name))
    if given.create_token:
        show.remark("the token is shown only once; send it as `Authorization: Bearer TOKEN`", given.quiet)
    for each in tokens.shown() if given.list_tokens else ():
        show.say(f"{each['name']}  {','.join(each['scopes'])}  {_expiry(each['expires'])}")
    return OK


def _expiry(expires: float | None) -> str:
    if expires is None:
        return "does not expire"
    when = datetime.fromtimestamp(expires, UTC).isoformat(" ", "seconds")
    return f"{'expired' if expires <= time.time() else 'expires'} {when}"


def _models(given: Namespace) -> dict[str, Any]:
    if given.demo:
        from millstream.serve.demo import demo_model

        return {"flights": demo_model()}
    names = given.name or []
    if len(names) > len(given.models):
        raise UsageError(f"{len(names)} names for {len(given.models)} models")
    found: dict[str, Any] = {}
    for index, text in enumerate(given.models):
        name = names[index] if index < len(names) else _name_of(text)
        if name in found:
            raise UsageError(f"two models named {quoted(name)}: give each one its --name")
        found[name] = model_of(text)
    return found


def _name_of(text: str) -> str:
    """The name of a model: the stem of its file, or the last class of its description."""
    if is_saved(text):
        return Path(text).stem
    words = re.findall(r"[A-Za-z]\w*(?=\s*(?:\(|$|\|))", text)
    return words[-1] if words else "model"


def _report_recovery(server: Any, given: Namespace) -> None:
    recovery = server.engine.recovery
    if recovery.replayed or recovery.snapshot_seq:
        source = f"read the snapshot of record {recovery.snapshot_seq:,}, " if recovery.snapshot_seq else ""
        replayed = show.counted(recovery.replayed, "record")
        show.remark(f"{source}replayed {replayed} in {recovery.seconds:.2f} s", given.quiet)
    for note in recovery.notes:
        show.warn(plain(note, 400))


COMMAND = Command(
    "serve",
    "serve predictions over HTTP, and learn from labels when they arrive",
    "Every prediction is stored with its features in the data folder. When its label arrives, seconds or weeks\n"
    "later, the model learns from the stored features exactly once, even if the server was killed in between.\n"
    "Restart the server on the same folder to continue; models already in the folder are not read from files.",
    (
        Option(
            ("models",),
            'saved models, or descriptions such as "StandardScaler | LogisticRegression"',
            value="MODEL",
            optional=True,
            many=True,
            complete="file",
        ),
        Option(("--data",), "data folder", value="FOLDER", default="data", complete="file"),
        Option(("--host",), "address to listen on", value="ADDRESS", default="127.0.0.1"),
        Option(("--port",), "port to listen on; 0 selects a free port", value="PORT", kind=port, default=8000),
        Option(
            ("--name",), "name of a model; repeat the option in the order of the models", value="NAME", many=True
        ),
        Option(("--metric",), "metric of new models; may be repeated", value="METRIC", many=True),
        *grouped(
            "labels of new models",
            Option(("--window",), "how long an event waits for its label, such as 7d or 90s", value="SPAN"),
            Option(("--early-window",), "how long a label waits for its event", value="SPAN"),
            Option(
                ("--default-label",),
                "label of an event whose window closed without one, such as false or 0",
                value="LABEL",
            ),
            Option(
                ("--aggregate",),
                "how several labels of one event are combined; all but first need --learn-when on_window_close",
                choices=("first", "last", "sum", "mean", "min", "max", "median"),
                value="HOW",
            ),
            Option(
                ("--learn-when",), "when labels are learned", choices=("on_label", "on_window_close"), value="WHEN"
            ),
            Option(
                ("--late",),
                "what to do with a label that arrives after the window",
                choices=("drop", "learn", "dead_letter"),
                value="WHAT",
            ),
        ),
        *grouped(
            "server",
            Option(("--retain-age",), "remove records older than this from the log, such as 90d", value="SPAN"),
            Option(("--retain-bytes",), "keep the log below this size", value="BYTES", kind=positive),
            Option(("--max-connections",), "maximum number of connections", value="COUNT", kind=positive),
            Option(("--max-body",), "maximum size of a request body", value="BYTES", kind=positive),
            Option(("--threads",), "number of HTTP threads", value="COUNT", kind=positive),
            Option(
                ("--create-token",),
                "create an access token, print it, and exit; the scopes are predict, label, metrics and admin "
                "(default predict,label)",
                value="NAME[:SCOPE,…]",
                many=True,
            ),
            Option(("--revoke-token",), "revoke the access tokens with a name, and exit", value="NAME", many=True),
            Option(("--list-tokens",), "list the access tokens, which are stored as hashes, and exit"),
            Option(("--require-token",), "require a token even on a loopback address"),
            Option(("--salvage",), "open a damaged log without the damaged records and lost rollbacks"),
            Option(
                ("--skip-record",),
                "do not learn from a record, such as a label on which a learner never returns; may be repeated",
                value="SEQ",
                kind=positive,
                many=True,
            ),
            Option(("--demo",), "serve a flight-delay model with a built-in client that sends late labels"),
            Option(("--demo-rate",), "flights per second in the demo", value="COUNT", kind=positive, default=200),
        ),
        QUIET,
    ),
    (
        ("serve a saved model under the name late", "serve late.ms --data ./data"),
        (
            "serve a new model",
            'serve "StandardScaler | LogisticRegression" --name late --data ./data',
        ),
        ("run the flight-delay demo", "serve --demo --data ./demo"),
        (
            "create a token for clients that request predictions and send labels",
            "serve --data ./data --create-token web",
        ),
        ("revoke it, also while the server is running", "serve --data ./data --revoke-token web"),
    ),
    main,
)
