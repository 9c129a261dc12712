"""From tree to components: look up names, match arguments with parameters, build components."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from millstream import registry
from millstream._echo import quoted
from millstream.errors import InvalidNotation, InvalidType, MillstreamError
from millstream.notation.read import read
from millstream.notation.tree import Argument, Call, Chain, Items, Literal, Node, Pairs
from millstream.roles import STEPS, TRANSFORMER, one_of, phrase_of

__all__ = ["IN_PYTHON", "Vocabulary", "parameters_of", "parse"]

#: Components written in Python, which the registry does not list, with their roles.
IN_PYTHON = {
    "feature_extraction.BagOfWords": TRANSFORMER,
    "feature_extraction.HashingVectorizer": TRANSFORMER,
    "feature_extraction.TFIDF": TRANSFORMER,
    "preprocessing.Guard": TRANSFORMER,
}

#: The refused parameter in a message.
_MUST_BE = re.compile(r": (\w+) must ")


def parse(text: str, role: str | Collection[str] | None = None, vocabulary: Vocabulary | None = None) -> Any:
    """Build the component that a notation describes: a model, a metric, an optimiser, anything in the registry.

    The notation is parsed, never executed, and only names of the registry are valid in it. With `role`, the
    component must have that role, or one of those. Errors point at their position and suggest the most similar
    name.

    >>> import millstream
    >>> model = millstream.parse("StandardScaler | LogisticRegression(l2=0.001, optimizer=AdaGrad(0.1))")
    >>> model
    StandardScaler() | LogisticRegression(optimizer=AdaGrad(), l2=0.001)
    >>> millstream.parse("StandardScaler | LogisticRegresion")
    Traceback (most recent call last):
    millstream.errors.InvalidNotation: notation: no component named 'LogisticRegresion', did you mean \
'linear_model.LogisticRegression'?
      StandardScaler | LogisticRegresion
                       ^^^^^^^^^^^^^^^^^
    """
    if not isinstance(text, str):
        raise InvalidType(f"notation: a model must be described by a string, got {type(text).__name__}")
    tree = read(text)
    roles = (role,) if isinstance(role, str) else tuple(role or ())
    builder = _Builder(text, vocabulary or Vocabulary())
    built = builder.build(tree, roles, "")
    if roles and role_of(built) not in roles:
        message = f"expected {one_of(roles)}, got {_what(built)}{builder.other(built, roles)}"
        raise builder.wrong(message, tree.start, tree.stop)
    return built


def role_of(part: Any) -> str | None:
    """The role of a component; None for other objects."""
    role = getattr(part, "role", None)
    if isinstance(role, str):
        return role
    name = getattr(part, "name", None)
    return registry.entry(name)["role"] if isinstance(name, str) and name in registry.find() else None


def _what(built: Any) -> str:
    """An object in words, for messages."""
    role = role_of(built)
    return f"{type(built).__name__}, {phrase_of(role)}" if role else f"the value {quoted(built, 40)}"


class Vocabulary:
    """The valid names: all components of the registry, and perhaps more.

    Parameters
    ----------
    more
        Full names with the modules that have them, such as `{"synth.SEA": "millstream.synth"}`.
    methods
        Methods that may be called on a built object, such as `take`.
    """

    def __init__(self, more: Mapping[str, str] | None = None, methods: Collection[str] = ()) -> None:
        self.more = {name: f"millstream.{name.rpartition('.')[0]}" for name in IN_PYTHON} | dict(more or {})
        self.methods = methods
        self.short: dict[str, list[str]] = {}
        for name in dict.fromkeys([*registry.find(), *self.more]):
            self.short.setdefault(name.rpartition(".")[2], []).append(name)

    @property
    def names(self) -> list[str]:
        """All full names."""
        return [name for names in self.short.values() for name in names]

    def named(self, name: str) -> list[str]:
        """The full names that a name may mean."""
        found = self.short.get(name.rpartition(".")[2], [])
        if "." in name:
            found = [full for full in found if full == name]
        return found or self._other_name(name)

    def _other_name(self, name: str) -> list[str]:
        """Aliases of a component in its module, such as `Discard` for `Drop`."""
        given, _, short = name.rpartition(".")
        for module in dict.fromkeys(full.rpartition(".")[0] for full in registry.find()):
            if given in ("", module):
                found = getattr(importlib.import_module(f"millstream.{module}"), short, None)
                full = getattr(found, "name", None)
                if isinstance(found, type) and isinstance(full, str) and full in registry.find():
                    return [full]
        return []

    def role(self, name: str) -> str:
        """The role of the component of a full name."""
        if name in IN_PYTHON:
            return IN_PYTHON[name]
        return "source" if name in self.more else registry.entry(name)["role"]

    def class_of(self, name: str) -> Callable[..., Any]:
        """The class of a full name."""
        if name in self.more:
            made: Callable[..., Any] = getattr(importlib.import_module(self.more[name]), name.rpartition(".")[2])
            return made
        return registry.class_of(name)

    def expects(self, name: str, parameter: str) -> str:
        """The requirement on a parameter, in words."""
        if name in self.more:
            return ""
        declared = registry.entry(name)["parameters"]
        return next((each["must_be"] for each in declared if each["name"] == parameter), "")


class _Builder:
    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text, self.vocabulary = text, vocabulary

    def wrong(self, message: str, start: int, stop: int) -> InvalidNotation:
        return InvalidNotation(message, self.text, start, stop)

    def build(self, node: Node, roles: Collection[str], family: str, argument: bool = False) -> Any:
        """Build a node; `roles` and `family` resolve names that several components share."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Call):
            if node.of is not None:
                return self.method(node, roles, family)
            return self.part(node, roles, family, argument)
        if isinstance(node, Chain):
            return self.chain(node)
        if isinstance(node, Items):
            items = [self.build(item, roles, family, argument) for item in node.items]
            return tuple(items) if node.is_tuple else items
        assert isinstance(node, Pairs), "there are no other nodes"
        return {self.key(key): self.build(value, roles, family, argument) for key, value in node.pairs}

    def key(self, node: Node) -> Any:
        value = node.value if isinstance(node, Literal) else None
        if not isinstance(value, (str, int, float)):
            raise self.wrong("a key must be a string or a number", node.start, node.stop)
        return value

    def chain(self, node: Chain) -> Any:
        from millstream import compose

        members = []
        for member in node.members:
            built = self.build(member, STEPS, "")
            if role_of(built) not in STEPS:
                hint = self.other(built, STEPS)
                raise self.wrong(
                    f"{quoted(node.sign)} joins models, got {_what(built)}{hint}", member.start, member.stop
                )
            members.append(built)
        kind: Any = compose.Pipeline if node.sign == "|" else compose.Union
        return self.attempt(lambda: kind(*members), node, [])

    def other(self, built: Any, roles: Collection[str]) -> str:
        """A hint at a component of the right role with the same short name."""
        names = [full for full in self.vocabulary.names if self.vocabulary.role(full) in roles]
        return registry.nearest(type(built).__name__, names)

    def part(self, node: Call, roles: Collection[str], family: str, argument: bool) -> Any:
        name = self.one_name(node, roles, family, argument)
        kind = self.vocabulary.class_of(name)
        parameters = parameters_of(kind)
        aliases: Mapping[str, str] = getattr(kind, "aliases", {})
        positions = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        many = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        values: dict[str, Any] = {}
        rest: list[Any] = []
        for place, given in enumerate(node.arguments):
            if given.name is None:
                if not many and place >= len(positions):
                    raise self.too_many(name, positions, given)
                parameter = "" if many else positions[place]
                value = self.argument(name, parameter, given)
                if many:
                    rest.append(value)
                else:
                    values[parameter] = value
            else:
                advice = getattr(kind, "unsupported", {}).get(given.name)
                if advice is not None:
                    message = f"{name}: there is no {given.name}: {advice}"
                    raise self.wrong(message, given.start, given.start + len(given.name))
                parameter = self.known(name, aliases.get(given.name, given.name), given, parameters, aliases)
                if parameter in values:
                    message = _twice(parameter, given.name, node.arguments[:place], aliases)
                    raise self.wrong(f"{name}: {message}", given.start, given.value.stop)
                values[parameter] = self.argument(name, parameter, given)
        for each in parameters:
            needed = each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
            if needed and each.name not in values:
                raise self.wrong(f"{name}: {each.name} must be given", node.at, node.at + len(node.name))
        return self.attempt(lambda: kind(*rest, **values), node, node.arguments, positions)

    def argument(self, name: str, parameter: str, given: Argument) -> Any:
        """The value of a parameter; its kind resolves names that several components share."""
        expected = self.vocabulary.expects(name, parameter)
        every = {self.vocabulary.role(full) for full in self.vocabulary.names}
        roles = [role for role in every if role.replace("_", " ") in expected]
        return self.build(given.value, roles, name.rpartition(".")[0], argument=True)

    def one_name(self, node: Call, roles: Collection[str], family: str, argument: bool) -> str:
        """The full name."""
        found = self.vocabulary.named(node.name)
        stop = node.at + len(node.name)
        if not found:
            hint = registry.hint(node.name, self.vocabulary.names)
            if argument and not roles:
                # The parameter takes no component.
                hint = "; a text stands in quotes"
            raise self.wrong(f"no component named {quoted(node.name)}{hint}", node.at, stop)
        for rule in (
            lambda full: self.vocabulary.role(full) in roles,
            # A wrapper has the role of what it wraps.
            lambda full: bool(roles) and self.vocabulary.role(full) == "wrapper",
            lambda full: full.rpartition(".")[0] == family,
        ):
            if len(found) > 1 and any(map(rule, found)):
                found = list(filter(rule, found))
        if len(found) > 1:
            raise self.wrong(f"{quoted(node.name)} may be {' or '.join(found)}: write it in full", node.at, stop)
        return found[0]

    def known(
        self, name: str, given: str, argument: Argument, parameters: Iterable[Any], aliases: Mapping[str, str]
    ) -> str:
        """A parameter's name, if there is such a parameter."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        known = [parameter.name for parameter in parameters if parameter.kind in kinds]
        if given in known or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return given
        hint = registry.nearest(given, [*known, *aliases])
        if not hint:
            hint = f"; it has {', '.join(known)}" if known else "; it has none"
        raise self.wrong(
            f"{name}: no parameter named {quoted(given)}{hint}",
            argument.start,
            argument.start + len(argument.name or ""),
        )

    def too_many(self, name: str, positions: list[str], given: Argument) -> InvalidNotation:
        takes = f"only {', '.join(positions)}" if positions else "no arguments"
        return self.wrong(f"{name}: takes {takes}", given.value.start, given.value.stop)

    def method(self, node: Call, roles: Collection[str], family: str) -> Any:
        assert node.of is not None, "a method is of something"
        built = self.build(node.of, roles, family)
        stop = node.at + len(node.name)
        if node.name not in self.vocabulary.methods or not hasattr(built, node.name):
            what = f"{type(built).__name__} has no method {quoted(node.name)} that may stand here"
            raise self.wrong(f"{what}{registry.nearest(node.name, self.vocabulary.methods)}", node.at, stop)
        positional = [self.build(each.value, (), "", True) for each in node.arguments if each.name is None]
        named = {
            each.name: self.build(each.value, (), "", True) for each in node.arguments if each.name is not None
        }
        return self.attempt(lambda: getattr(built, node.name)(*positional, **named), node, node.arguments)

    def attempt(
        self, make: Callable[[], Any], node: Node, arguments: list[Argument], positions: Iterable[str] = ()
    ) -> Any:
        """Build a component; an error points at the argument that the message names."""
        try:
            return make()
        except InvalidNotation:
            raise
        except (MillstreamError, TypeError, ValueError) as error:
            start, stop = node.start, node.stop
            if isinstance(node, Call):
                start = node.at
            named = _MUST_BE.search(str(error))
            names = [each.name or place for each, place in zip(arguments, [*positions, *arguments], strict=False)]
            if named and named[1] in names:
                value = arguments[names.index(named[1])].value
                start, stop = value.start, value.stop
            raise self.wrong(str(error), start, stop) from None


def _twice(parameter: str, given: str, before: Iterable[Argument], aliases: Mapping[str, str]) -> str:
    """The message for a parameter that is given twice, perhaps under two names."""
    if given != parameter:
        return f"{given} is another name of {parameter}, which is already given"
    other = next((each.name for each in before if each.name and aliases.get(each.name) == parameter), None)
    if other is not None:
        return f"{parameter} is already given as {other}, another name of it"
    return f"{parameter} is given twice"


def parameters_of(built: Any) -> list[inspect.Parameter]:
    """The parameters of a class's constructor or of a function."""
    made = built
    if isinstance(built, type):
        # A class that chooses its subclass has a `__new__` and no `__init__`.
        made = next(
            (kind.__dict__["__init__"] for kind in built.__mro__[:-1] if "__init__" in kind.__dict__), None
        )
        made = made or built.__new__
    try:
        parameters = list(inspect.signature(made).parameters.values())
    except (TypeError, ValueError):
        return []
    return parameters[1:] if isinstance(built, type) else parameters
