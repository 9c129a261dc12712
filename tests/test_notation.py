"""Models as text."""

import pickle
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream
from millstream import compose, notation
from millstream.errors import InvalidNotation
from millstream.notation import Vocabulary, parse, text
from streams import ARGUMENTS


def pointed(written, **more):
    """The message of a wrong text, and what it points at."""
    with pytest.raises(InvalidNotation) as caught:
        parse(written, **more)
    error = caught.value
    assert "\n" not in str(error)
    assert error.pointer in error.__notes__
    return str(error), written[error.start : error.stop]


def test_the_example_of_the_front_page():
    model = parse("StandardScaler | LogisticRegression(l2=0.001, optimizer=AdaGrad(0.1))")
    assert (
        model.describe()
        == millstream.build(
            {
                "name": "compose.Pipeline",
                "parameters": {
                    "steps": [
                        {"name": "preprocessing.StandardScaler"},
                        {
                            "name": "linear_model.LogisticRegression",
                            "parameters": {
                                "l2": 0.001,
                                "optimizer": {"name": "optim.AdaGrad", "parameters": {"learning_rate": 0.1}},
                            },
                        },
                    ]
                },
            }
        ).describe()
    )


def made(name):
    if name == "compose.Pipeline":
        return millstream.preprocessing.StandardScaler() | millstream.naive_bayes.GaussianNB()
    return millstream.build({"name": name, "parameters": ARGUMENTS.get(name, {})})


@pytest.mark.parametrize("name", millstream.find())
def test_the_text_of_every_part_makes_it_again(name):
    part = made(name)
    again = parse(text(part))
    assert type(again) is type(part)
    assert again.describe() == part.describe()
    assert text(again) == text(part)


#: Roles whose components look like their value.
SHOWING_A_VALUE = ("metric", "statistic", "covariance_estimator", "policy_estimator")


@pytest.mark.parametrize(
    "name",
    [name for name in millstream.find() if millstream.registry.entry(name)["role"] not in SHOWING_A_VALUE],
)
def test_what_a_part_looks_like_can_be_read(name):
    part = made(name)
    # A name that two families have is told apart by the role that is due.
    twice = sum(other.endswith(f".{name.rpartition('.')[2]}") for other in millstream.find()) > 1
    role = millstream.registry.entry(name)["role"]
    again = parse(repr(part), role=(part.role if role == "wrapper" else role) if twice else None)
    assert again.describe() == part.describe()


def test_changed_parameters_are_written():
    assert text(parse("LogisticRegression(AdaGrad(0.5), l2=1)")) == (
        "LogisticRegression(optimizer=AdaGrad(learning_rate=0.5), l2=1.0)"
    )
    assert text({"name": "linear_model.LogisticRegression"}) == "LogisticRegression"


@pytest.mark.parametrize(
    "written",
    [
        "preprocessing.StandardScaler()|linear_model.LogisticRegression()",
        " StandardScaler\n  | LogisticRegression ( ) ",
        "(StandardScaler | LogisticRegression)",
        "Pipeline([StandardScaler, LogisticRegression(l2=0., l1=-0.0,)])",
        "StandardScaler(with_mean=True) | LogisticRegression(intercept=True)",
    ],
)
def test_one_model_in_several_spellings(written):
    assert text(parse(written)) in (
        "StandardScaler | LogisticRegression",
        "StandardScaler | LogisticRegression(l1=-0.0)",
    )


def test_a_union_binds_closer_than_a_pipeline():
    model = parse("StandardScaler + OneHotEncoder | GaussianNB")
    assert [type(step).__name__ for step in model.steps] == ["Union", "GaussianNB"]
    model = parse("(Select('a') | StandardScaler) + Select('b')")
    assert isinstance(model, compose.Union)
    assert text(model) == "(Select('a') | StandardScaler) + Select('b')"
    assert text(parse("Pipeline(('scale', StandardScaler), ('learn', GaussianNB))")) == (
        "Pipeline(('scale', StandardScaler), ('learn', GaussianNB))"
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1), ("-1", -1), ("+2.5", 2.5), ("1e-3", 1e-3), (".5", 0.5), ("1_000", 1000), ("5.", 5.0),
        ("True", True), ("None", None), ("'a\\n\\x41\\u00e9\\'\"'", "a\nAé'\""), ('"it\'s"', "it's"),
        ("[1, 'a', [2.0, None]]", [1, "a", [2.0, None]]), ("()", ()), ("(1,)", (1,)), ("(1)", 1), ("[]", []),
        ("{'a': 1, 2: [3]}", {"a": 1, 2: [3]}), ("{}", {}), ("'日本'", "日本"),
    ],
)  # fmt: skip
def test_values(written, value):
    found = parse(written)
    assert (found, type(found)) == (value, type(value))


def test_names_that_several_parts_have_are_told_apart():
    assert parse("Rolling(Mean)", role="statistic").name == "stats.Rolling"
    assert parse("Rolling(MAE)", role="metric").name == "metrics.Rolling"
    assert parse("LinearRegression(loss=Quantile(0.9))").loss.name == "losses.Quantile"
    assert parse("stats.Rolling(Quantile(0.9))").statistic.name == "stats.Quantile"
    assert pointed("Rolling(MAE)") == (
        "notation: 'Rolling' may be metrics.Rolling or stats.Rolling: write it in full",
        "Rolling",
    )


@pytest.mark.parametrize(
    ("written", "message", "place"),
    [
        ("OneHotEncoder | GausianNB", "did you mean 'naive_bayes.GaussianNB'?", "GausianNB"),
        ("linear.LogisticRegression", "did you mean", "linear.LogisticRegression"),
        ("LogisticRegression(lernig_rate=1)", "no parameter named 'lernig_rate'", "lernig_rate"),
        ("AdaGrad(learnin_rate=1)", "did you mean 'learning_rate'?", "learnin_rate"),
        ("StandardScaler | LogisticRegression(l2=-1)", "l2 must be >= 0, got -1", "-1"),
        ("OneVsRest(LogisticRegression(SGD(-2)))", "learning_rate must be > 0", "-2"),
        ("MajorityClass(1)", "takes no arguments", "1"),
        ("Momentum(1, 0.5, 3)", "takes only learning_rate, momentum", "3"),
        ("AdaGrad(1, learning_rate=2)", "learning_rate is given twice", "learning_rate=2"),
        ("AdaGrad(epsilon=1, epsilon=2)", "epsilon is given twice", "epsilon"),
        ("ADWIN(0.1, delta=0.2)", "delta is another name of significance, which is already given", "delta=0.2"),
        ("ADWIN(significance=0.1, delta=0.2)", "delta is another name of significance, which", "delta=0.2"),
        ("ADWIN(delta=0.1, significance=0.2)", "significance is already given as delta", "significance=0.2"),
        ("SGD(lr=0.1, learning_rate=0.2)", "learning_rate is already given as lr", "learning_rate=0.2"),
        ("HoeffdingTreeClassifier(max_size=3)", "there is no max_size: max_bytes is the limit", "max_size"),
        ("KSWIN(window=3)", "drift.KSWIN: there is no window: pass the first values to update_many", "window"),
        ("AdaGrad(epsilon=1, 2)", "cannot follow", "2"),
        ("FBeta", "beta must be given", "FBeta"),
        ("Select(kind=number)", "a text stands in quotes", "number"),
        ("LogisticRegression | StandardScaler", "only the last step may be a learner", None),
        ("StandardScaler | 3", "'|' joins models", "3"),
        ("StandardScaler | Accuracy", "'|' joins models", "Accuracy"),
        ("1 + 2", "'+' joins models", "1"),
        ("", "nothing to read", ""),
        ("StandardScaler |", "but the text ends", ""),
        ("StandardScaler StandardScaler", "expected an end", "S"),
        ("LogisticRegression(l2=1", "this '(' is never closed", "("),
        ("LogisticRegression(l2=1]", "expected ',' or ')', got ']'", "]"),
        ("Select('a", "this quote is never closed", "'"),
        ("Select('\\q')", "not an escape", "\\q"),
        ("Select('\\U99999999')", "not an escape", "\\U"),
        ("AdaGrad(1x)", "not a number", "1x"),
        ("AdaGrad(1e999)", "learning_rate must be a finite number, got inf", "1e999"),
        ("AdaGrad(--1)", "expected a number", "-"),
        ("AdaGrad(" + "9" * 5000 + ")", "not a number that can be read", "9" * 5000),
        ("{[1]: 2}", "a key must be a string or a number", "[1]"),
        ("StandardScaler().take(3)", "no method 'take'", "take"),
        ("__import__('os')", "no component named '__import__'", "__import__"),
        ("StandardScaler.__class__", "no component named", "StandardScaler.__class__"),
        ("lambda: 1", "expected an end", ":"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_pointed_at(written, message, place):
    found, at = pointed(written)
    assert message in found
    if place is not None:
        assert at == place


def test_the_role_is_checked():
    message, place = pointed("StandardScaler", role=("classifier", "regressor"))
    assert message == (
        "notation: expected a classifier or a regressor, got StandardScaler, a transformer, "
        "did you mean 'preprocessing.TargetStandardScaler'?"
    )
    assert place == "StandardScaler"
    assert "got the value 3" in pointed("3", role="metric")[0]
    assert parse("PageHinkley(threshold=10)", role="drift_detector").threshold == 10.0
    assert parse("AdaGrad", role="optimizer").name == "optim.AdaGrad"
    with pytest.raises(TypeError):
        parse(3)


def test_parts_cannot_lie_too_deep():
    assert "deep" in pointed("(" * 100_000)[0]
    assert "deep" in pointed("OneVsRest(" * 1000)[0]
    assert "deep" in pointed("[" * 1000)[0]
    assert "deep" in pointed("{1:" * 1000)[0]


def test_the_pointer_stands_below_the_place():
    with pytest.raises(InvalidNotation) as caught:
        parse("Select('日本') | Nix")
    first, second = caught.value.pointer.splitlines()
    assert first == "  Select('日本') | Nix"
    # Two columns for each of the wide characters.
    assert second.index("^") == first.index("Nix") + 2
    long = "StandardScaler | " * 40 + "Nix" + " | StandardScaler" * 40
    with pytest.raises(InvalidNotation) as caught:
        parse(long)
    first, second = caught.value.pointer.splitlines()
    assert len(first) < 120
    assert first[second.index("^") : second.index("^") + 3] == "Nix"
    assert len(second.strip()) == 3


def test_the_error_can_be_pickled():
    with pytest.raises(InvalidNotation) as caught:
        parse("Nix(1)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.pointer) == (str(caught.value), caught.value.pointer)


def test_other_names_of_a_part():
    assert parse("Discard('a')").name == "compose.Drop"
    assert parse("compose.TransformerUnion(StandardScaler, OneHotEncoder)").name == "compose.Union"


def test_a_vocabulary_may_know_more():
    words = Vocabulary({"test_notation_words.Fraction": "fractions"}, methods=("limit_denominator",))
    found = parse("Fraction(355, 113).limit_denominator(10)", vocabulary=words)
    assert str(found) == "22/7"
    assert "did you mean" in pointed("Fractoin(1)", vocabulary=words)[0]
    assert "no method '__class__'" in pointed("Fraction(1).__class__()", vocabulary=words)[0]


numbers = st.floats(0.001, 10.0)
rates = numbers | st.builds("InverseScaling({!r}, power={!r})".format, numbers, numbers)
optimizers = st.builds("{}({})".format, st.sampled_from(["SGD", "AdaGrad", "Adam", "RMSProp"]), rates)
losses = st.sampled_from(["Squared", "losses.Quantile(0.3)", "Huber(epsilon=0.2)", "Absolute()"])
keys = st.lists(st.text(max_size=5).map(repr) | st.integers(0, 9).map(repr), min_size=1, max_size=3).map(", ".join)
transformers = st.recursive(
    st.sampled_from(["StandardScaler", "MinMaxScaler(low=-1.0)", "OneHotEncoder"])
    | st.builds("{}({})".format, st.sampled_from(["Select", "Drop"]), keys),
    lambda inner: st.builds("({} | {})".format, inner, inner) | st.builds("({} + {})".format, inner, inner),
    max_leaves=5,
)
learners = st.builds("LinearRegression(optimizer={}, loss={}, l2={!r})".format, optimizers, losses, numbers)


@pytest.mark.slow
@given(st.builds("{} | {}".format, transformers, learners))
@settings(max_examples=100, deadline=None)
def test_any_model_comes_back(written):
    model = parse(written)
    assert parse(text(model)).describe() == model.describe()
    assert parse(repr(model)).describe() == model.describe()


@pytest.mark.slow
@given(
    st.text(alphabet=string.printable, max_size=60)
    | st.lists(
        st.sampled_from([*"()[]{},:=|+.'\"\\-1 ", "StandardScaler", "AdaGrad", "l2", "True", "1e5", "take"]),
        max_size=20,
    ).map("".join)
)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_or_refused(written):
    error = None
    try:
        parse(written)
    except InvalidNotation as found:
        error = found
    if error is not None:
        assert 0 <= error.start <= len(written)
        assert len(error.pointer.splitlines()) == 2


def test_it_is_on_the_front():
    assert millstream.parse is notation.parse
