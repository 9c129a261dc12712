"""Routes: a champion and its challengers, and promotions."""

from __future__ import annotations

from typing import Any

from millstream.serve.api.fields import checked_object, json_body
from millstream.serve.api.models import status
from millstream.serve.api.operation import Operation
from millstream.serve.names import check_name
from millstream.serve.policy import LabelPolicy
from millstream.serve.requests import Call, Problem, Reply
from millstream.serve.route import Route

__all__ = ["OPERATIONS"]


def list_routes(call: Call) -> Reply:
    """All routes."""
    with call.server.engine.committer.reading():
        routes = [route.describe() for route in call.server.engine.state.routes.values()]
    return Reply.json({"routes": routes})


def _route(call: Call) -> Route:
    name = call.values["route"]
    route: Route | None = call.server.engine.state.routes.get(name)
    if route is None:
        raise Problem(404, "unknown-route", f"no route named {name[:130]!r}")
    return route


def show_route(call: Call) -> Reply:
    """One route with its models, duels and promotions."""
    return Reply.json(status(call.server, _route(call).name))


def put_route(call: Call) -> Reply:
    """Create or change a route."""
    engine = call.server.engine
    name = check_name("route", call.values["route"])
    body = checked_object(json_body(call), ("champion", "challengers", "mode", "split", "promote", "policy"))
    known = engine.state.routes.get(name)
    if known is None and name in engine.state.by_name:
        raise Problem(409, "name-in-use", f"route: {name!r} is a model")
    body = {**body, "route": name}
    body.setdefault("challengers", [])
    members = [body.get("champion"), *_list(body["challengers"])]
    for each in members:
        if not isinstance(each, str) or each not in engine.state.models:
            raise Problem(404, "unknown-model", f"no model named {each!r:.130}")
    roles = {str(engine.state.models[each].role) for each in members}
    if len(roles) > 1:
        raise Problem(
            422, "invalid", f"challengers: models must have the same role, got {', '.join(sorted(roles))}"
        )
    rule = Route.of(body).rule
    if rule is not None:
        for each in members:
            served = engine.state.models[each]
            name_of_metric = rule.metric or next(iter(engine.state.models[members[0]].metric_names), None)
            if served.metric_named(name_of_metric) is None:
                raise Problem(422, "invalid", f"promote.metric: model {each!r} has no metric {name_of_metric!r}")
    policy = engine.state.by_name[name].policy if known is not None else engine.policy
    if body.get("policy") is not None:
        policy = LabelPolicy.of(body["policy"])
    number = engine.state.last_stream + 1 if known is None else engine.state.by_name[name].number
    engine.administer({"op": "route", **body, "policy": policy.describe()}, stream=number)
    call.server.sync_shortcuts()
    return Reply.json(status(call.server, name), 201 if known is None else 200)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Problem(422, "invalid", "challengers: must be a list of models")
    return value


def delete_route(call: Call) -> Reply:
    """Delete a route. Its models are kept."""
    route = _route(call)
    seq = call.server.engine.administer({"op": "unroute", "route": route.name})
    call.server.sync_shortcuts()
    return Reply.json({"route": route.name, "deleted": True, "seq": seq})


def promote(call: Call) -> Reply:
    """Promote a challenger manually."""
    route = _route(call)
    body = checked_object(json_body(call), ("model", "why"))
    if body.get("model") not in route.challengers:
        known = ", ".join(route.challengers) or "none"
        raise Problem(
            422, "invalid", f"model: must be a challenger of {route.name!r} ({known}), got {body.get('model')!r}"
        )
    why = {"by": "hand", "why": str(body.get("why", ""))[:500]}
    call.server.engine.administer({"op": "promote", "route": route.name, "model": body["model"], "why": why})
    call.server.sync_shortcuts()
    return Reply.json(status(call.server, route.name))


_UNKNOWN = {404: "unknown route"}

OPERATIONS = (
    Operation("GET", "/v1/routes", list_routes, "metrics", "List routes", reads_state=True),
    Operation("GET", "/v1/routes/{route}", show_route, "metrics", "Show a route", _UNKNOWN, reads_state=True),
    Operation("PUT", "/v1/routes/{route}", put_route, "admin", "Create or change a route", {201: "created"}),
    Operation("DELETE", "/v1/routes/{route}", delete_route, "admin", "Delete a route", {404: "unknown route"}),
    Operation("POST", "/v1/routes/{route}/promote", promote, "admin", "Promote a challenger"),
)
