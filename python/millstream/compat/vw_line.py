"""A line of Vowpal Wabbit's options as a reader and a model, and as the Python that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from millstream._echo import quoted
from millstream.compat.calls import Call, shown
from millstream.compat.vw_options import INSTEAD, parse
from millstream.compat.vw_policies import POLICIES, policy, policy_loop, reads_rounds
from millstream.errors import InvalidValue

__all__ = ["Translation", "translate"]

#: The losses of VW by the regressor or classifier for them, and its loss, None for the default one.
_LOSSES = {
    "squared": ("linear_model.LinearRegression", None),
    "classic": ("linear_model.LinearRegression", None),
    "quantile": ("linear_model.LinearRegression", "losses.Quantile"),
    "expectile": ("linear_model.LinearRegression", "losses.Expectile"),
    "poisson": ("linear_model.LinearRegression", "losses.Poisson"),
    "logistic": ("linear_model.LogisticRegression", None),
    "hinge": ("linear_model.LogisticRegression", "losses.Hinge"),
}


@dataclass(frozen=True)
class Translation:
    """A reader and a model for a line of VW's options: `reader, model = compat.from_vw(line)`."""

    #: A stream if the line names a file, else a function that makes one of a path.
    reader: Any
    model: Any
    #: The Python that makes both, and uses them.
    code: str
    #: A sentence on each option without an exact counterpart.
    notes: list[str]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.reader, self.model))

    def __str__(self) -> str:
        return "\n".join([*(f"# {note}" for note in self.notes), self.code])


class _Options:
    """The options of a line, each by its long name; the last one counts, and some are collected."""

    def __init__(self, line: str) -> None:
        self.notes: list[str] = []
        self.values: dict[str, list[str]] = {}
        for name, value in parse(line):
            if name in INSTEAD:
                self.note(f"{name}{f' {value}' if value else ''}: {INSTEAD[name]}.")
            else:
                self.values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)

    def all(self, *names: str) -> list[str]:
        return [value for name in names for value in self.values.get(name, [])]

    def text(self, name: str, default: str = "") -> str:
        return self.values.get(name, [default])[-1]

    def number(self, name: str, default: float) -> float:
        return float(self._as(float, "a number", name, default))

    def integer(self, name: str, default: int) -> int:
        return int(self._as(int, "an integer", name, default))

    def _as(self, kind: Callable[[str], Any], words: str, name: str, default: Any) -> Any:
        try:
            return kind(self.text(name)) if name in self else default
        except ValueError:
            raise InvalidValue(f"compat.from_vw: {name} must be {words}, got {quoted(self.text(name))}") from None


def translate(line: str) -> Translation:
    """See `compat.from_vw`."""
    options = _Options(line)
    reader, model = _reader(options), _model(options)
    made = partial(_function(reader), **_keywords(reader)) if "--data" not in options else reader.run()
    if "--initial_regressor" in options:
        options.note(
            "--initial_regressor: models of VW cannot be read; millstream.load reads those of model.save."
        )
    return Translation(made, model.run(), _code(options, reader, model), options.notes)


def _function(call: Call) -> Callable[..., Any]:
    from millstream import stream

    function: Callable[..., Any] = getattr(stream, call.function.rpartition(".")[2])
    return function


def _keywords(call: Call) -> dict[str, Any]:
    return dict(call.keywords)


#: Reductions to binary classifiers.
_MANY = {
    "--oaa": "multiclass.OneVsRest",
    "--ect": "multiclass.OneVsRest",
    "--log_multi": "multiclass.LabelTree",
    "--recall_tree": "multiclass.LabelTree",
}

#: Reductions whose labels are costs.
_COSTS = ("--csoaa", "--csoaa_ldf", "--wap", "--wap_ldf")


def _reader(options: _Options) -> Call:
    if reads_rounds(options):
        return _reader_of_rounds(options)
    keywords: dict[str, Any] = {}
    if (bits := options.integer("--bit_precision", 18)) != 18:
        keywords["bits"] = bits
    if "--noconstant" in options:
        keywords["constant"] = False
    products = options.all("--quadratic", "--cubic", "--interactions")
    if products:
        keywords["interactions"] = products
    for name, keyword in (("--ngram", "ngram"), ("--skips", "skips")):
        if numbers := options.all(name):
            keywords[keyword] = _by_namespace(name, numbers)
    for name, keyword in (("--ignore", "ignore"), ("--keep", "keep"), ("--ignore_linear", "ignore_linear")):
        if names := options.all(name):
            keywords[keyword] = "".join(names)
    if reduction := next((name for name in _COSTS if name in options), None):
        if reduction.endswith("_ldf"):
            if keywords:
                options.note(f"{reduction}: features of classes keep their names and are read as they are.")
            keywords = {"by_class": True}
        keywords["labels"] = "costs"
    if "--data" in options:
        return Call("stream.read_vw", (options.text("--data"),), keywords)
    return Call("stream.read_vw", (), keywords)


def _reader_of_rounds(options: _Options) -> Call:
    path = (options.text("--data"),) if "--data" in options else ()
    for name in ("--noconstant", "--ngram", "--skips", "--ignore", "--keep", "--ignore_linear"):
        if name in options:
            options.note(f"{name}: rounds are read with all their features.")
    if "--bit_precision" in options:
        options.note("--bit_precision: features of rounds keep their names and are not hashed.")
    if "--dsjson" in options:
        return Call("stream.read_dsjson", path)
    return Call("stream.read_vw", path, {"labels": "actions"})


def _by_namespace(option: str, values: list[str]) -> int | dict[str, int]:
    """`["2"]` is a number for all namespaces, `["a2", "b3"]` one for each of these."""
    found: dict[str, int] = {}
    for value in values:
        name, digits = ("", value) if value.isdigit() else (value[:1], value[1:])
        if not digits.isdigit():
            raise InvalidValue(
                f"compat.from_vw: {option} must be a number, after the first character of a namespace or alone, "
                f"got {quoted(value)}"
            )
        found[name] = int(digits)
    if set(found) == {""}:
        return found[""]
    if "" in found:
        raise InvalidValue(f"compat.from_vw: {option} must be for all namespaces or for some, got {values}")
    return found


def _model(options: _Options) -> Call:
    optimizer = _optimizer(options)
    if any(name in options for name in POLICIES):
        return policy(options, optimizer)
    for reduction in (*_MANY, *_COSTS):
        if reduction in options:
            return _reduced(options, reduction, optimizer)
    name = options.text("--loss_function", "squared")
    model, is_classifier = _linear(options, name, optimizer)
    if "--active" in options:
        return _active(options, model, is_classifier)
    if "--binary" in options and not is_classifier:
        options.note("--binary: use --loss_function logistic, whose model predicts classes.")
    for name, ensemble in (("--boosting", "ensemble.AdaBoost"), ("--bootstrap", "ensemble.Bagging")):
        if name in options:
            suffix = "" if is_classifier else "Regressor"
            if name == "--boosting" and not is_classifier:
                options.note("--boosting: it needs --loss_function logistic.")
                continue
            options.note(f"{name}: {ensemble}{suffix} draws weights of its own, so predictions differ.")
            model = Call(ensemble + suffix, (model,), {"n_models": options.integer(name, 10)})
    return model


def _active(options: _Options, model: Call, is_classifier: bool) -> Call:
    if not is_classifier:
        options.note("--active: it needs --loss_function logistic.")
        return model
    options.note("--active: query_one decides whether to ask for a label; --mellowness has no counterpart.")
    return Call("active.ImportanceWeighted", (model,))


def _linear(options: _Options, name: str, optimizer: str | Call) -> tuple[Call, bool]:
    """The linear model for a loss, and whether it is a classifier."""
    if name not in _LOSSES:
        raise InvalidValue(
            f"compat.from_vw: --loss_function must be one of {', '.join(_LOSSES)}, got {quoted(name)}"
        )
    function, loss = _LOSSES[name]
    keywords: dict[str, Any] = {"optimizer": optimizer}
    if loss == "losses.Quantile":
        keywords["loss"] = Call(loss, (options.number("--quantile_tau", 0.5),))
    elif loss == "losses.Expectile":
        keywords["loss"] = Call(loss, (options.number("--expectile_q", 0.5),))
    elif loss:
        keywords["loss"] = Call(loss)
    for penalty in ("--l1", "--l2"):
        if options.number(penalty, 0.0) and "--ftrl" not in options:
            if "--coin" in options:
                options.note(f"{penalty}: optim.CoinBetting has no penalties.")
                continue
            keywords[penalty[2:]] = options.number(penalty, 0.0)
            options.note(f"{penalty}: here it is a proximal step of the features in the row.")
    keywords["intercept"] = False
    model, is_classifier = Call(function, (), keywords), function.endswith("LogisticRegression")
    if "--link" in options and not is_classifier and options.text("--link") != "identity":
        options.note("--link: use --loss_function logistic, whose model has probabilities.")
    if not is_classifier and name != "poisson":
        bounds: dict[str, Any] = {}
        for bound, keyword in (("--min_prediction", "y_min"), ("--max_prediction", "y_max")):
            if bound in options:
                bounds[keyword] = options.number(bound, 0.0)
        model = Call("preprocessing.PredClipper", (model,), bounds or {"seen_range": True})
        if not bounds:
            options.note(
                f"--loss_function {name}: VW takes gradients at predictions within the range of labels so far; "
                "here the range limits predictions only."
            )
    return model, is_classifier


def _optimizer(options: _Options) -> str | Call:
    rate = options.number("--learning_rate", 0.5)
    power = options.number("--power_t", 0.5)
    if "--coin" in options:
        if "--learning_rate" in options:
            options.note(
                "--learning_rate: --coin has none; optim.CoinBetting(wealth) sets the size of first steps."
            )
        return Call("optim.CoinBetting")
    if "--ftrl" in options:
        penalties = {"l1": options.number("--l1", 0.0), "l2": options.number("--l2", 0.0)}
        alpha, beta = options.number("--ftrl_alpha", 0.005), options.number("--ftrl_beta", 0.1)
        return Call("optim.FTRLProximal", (alpha, beta), penalties)
    chosen = {name for name in ("--sgd", "--adaptive", "--normalized", "--invariant") if name in options}
    if "--sgd" in chosen:
        rate = options.number("--learning_rate", 10.0)
        if power == 0:
            return Call("optim.SGD", (rate,))
        options.note("--sgd: VW counts its first step as the second one.")
        return Call("optim.SGD", (Call("optim.InverseScaling", (rate, power)),))
    if chosen and chosen != {"--adaptive", "--normalized", "--invariant"}:
        options.note(
            f"{' '.join(sorted(chosen))}: optim.Adaptive is adaptive, normalised and invariant; for adaptive "
            "steps alone use optim.AdaGrad, for normalised features preprocessing.MaxAbsScaler in front."
        )
    if (rate, power) == (0.5, 0.5):
        return "adaptive"
    return Call("optim.Adaptive", (rate,), {} if power == 0.5 else {"power": power})


def _reduced(options: _Options, reduction: str, optimizer: str | Call) -> Call:
    name = options.text("--loss_function", "squared")
    if reduction in _MANY:
        if reduction == "--ect":
            options.note("--ect: multiclass.OneVsRest had half as many errors on ten classes.")
        if name not in ("logistic", "hinge"):
            options.note(
                f"{reduction}: its members use the logistic loss, which gives probabilities and fewer errors."
            )
        member, _ = _linear(options, name if name in ("logistic", "hinge") else "logistic", optimizer)
        return Call(_MANY[reduction], (member,))
    by_class = {"by_class": True} if reduction.endswith("_ldf") else {}
    # Rows of the reader have the constant feature; examples with features of classes have none.
    settings = {"optimizer": optimizer} | ({} if by_class else {"intercept": False})
    if reduction.startswith("--csoaa"):
        member = Call("linear_model.LinearRegression", (), settings)
        return Call("cost_sensitive.CostRegression", (member,), by_class)
    member = Call("linear_model.LogisticRegression", (), settings)
    return Call("cost_sensitive.PairwiseCosts", (member,), by_class)


def _code(options: _Options, reader: Call, model: Call) -> str:
    """The Python that makes reader and model and uses them as VW would."""
    path = "" if "--data" in options else '"train.vw"'
    words = str(reader) if not path else _with_path(reader, path)
    modules = {"stream", *model.modules()}
    lines = [f"model = {model}"]
    passes = options.integer("--passes", 1)
    costs = model.function.startswith("cost_sensitive")
    if model.function.startswith("bandit"):
        lines += policy_loop(options)
    elif costs:
        lines += _cost_loop(options, model, passes)
    elif "--testonly" in options:
        lines.append("predictions = [model.predict_many(chunk.X) for chunk in reader.chunks()]")
    elif passes > 1:
        holdout = (
            [] if "--holdout_off" in options else [f"holdout={1 / options.integer('--holdout_period', 10):g}"]
        )
        if holdout:
            holdout.append(f"patience={options.integer('--early_terminate', 3)}")
        lines.append(f"result = millstream.train({', '.join(['model', 'reader', f'passes={passes}', *holdout])})")
    else:
        modules.add("evaluate")
        lines.append("result = evaluate.prequential(model, reader)")
    if "--predictions" in options and "--testonly" not in options:
        options.note(
            "--predictions: use step_many of the model for each chunk, or evaluate.prequential(…, predictions=…)."
        )
    if "--final_regressor" in options:
        looped = costs or model.function.startswith("bandit")
        trained = "result.model" if passes == 1 and "--testonly" not in options and not looped else "model"
        lines.append(f"{trained}.save({shown(options.text('--final_regressor'))})")
    needs_package = any("millstream." in line for line in lines)
    heads = (["import millstream"] if needs_package else []) + [
        f"from millstream import {', '.join(sorted(modules))}"
    ]
    return "\n".join([*heads, "", f"reader = {words}", *lines])


def _cost_loop(options: _Options, model: Call, passes: int) -> list[str]:
    """The lines that learn or predict costs: batches where the model takes them, else one by one."""
    in_batches = model.function.endswith("CostRegression") and not model.keywords
    if "--testonly" in options and in_batches:
        return ["predictions = [model.predict_many(rows.X) for rows in reader.chunks()]"]
    if "--testonly" in options:
        return ["predictions = [model.predict_one(x) for x, costs in reader]"]
    loop = ["for x, costs in reader:", "    model.learn_one(x, costs)"]
    if in_batches:
        loop = [
            "for rows in reader.chunks():",
            "    chosen = model.step_many(rows.X, rows.costs, classes=rows.classes)",
        ]
    return [f"for each_pass in range({passes}):", *(f"    {line}" for line in loop)] if passes > 1 else loop


def _with_path(reader: Call, path: str) -> str:
    words = [path, *(str(Call("_", (), {name: value}))[2:-1] for name, value in reader.keywords.items())]
    return f"{reader.function}({', '.join(words)})"
