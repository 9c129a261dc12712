"""Lines of Vowpal Wabbit's options."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from millstream import compat, cost_sensitive, errors, evaluate, linear_model, multiclass, optim, stream
from millstream.compat.vw_options import INSTEAD

ADAPTIVE = {"optimizer": "adaptive", "intercept": False}


def made(line: str) -> Any:
    return compat.from_vw(line, show=False)


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("--loss_function logistic", linear_model.LogisticRegression("adaptive", intercept=False)),
        (
            "--loss_function=logistic -l 0.1 --power_t 0.4",
            linear_model.LogisticRegression(optim.Adaptive(0.1, power=0.4), intercept=False),
        ),
        (
            "--loss_function logistic --sgd -l 0.1 --power_t 0",
            linear_model.LogisticRegression(optim.SGD(0.1), intercept=False),
        ),
        (
            "--coin --loss_function hinge",
            linear_model.LogisticRegression(optim.CoinBetting(), loss="losses.Hinge", intercept=False),
        ),
        (
            "--ftrl --ftrl_alpha 0.1 --l1 0.01 --loss_function logistic",
            linear_model.LogisticRegression(optim.FTRLProximal(0.1, 0.1, l1=0.01, l2=0.0), intercept=False),
        ),
        (
            "--oaa 10 --loss_function logistic",
            multiclass.OneVsRest(linear_model.LogisticRegression("adaptive", intercept=False)),
        ),
        (
            "--csoaa 4",
            cost_sensitive.CostRegression(linear_model.LinearRegression("adaptive", intercept=False)),
        ),
        ("--wap_ldf m", cost_sensitive.PairwiseCosts(linear_model.LogisticRegression("adaptive"), by_class=True)),
    ],
    ids=str,
)
def test_models(line: str, model: Any) -> None:
    assert repr(made(line).model) == repr(model)


def test_the_line_of_the_guide() -> None:
    reader, model = made("-q ab --oaa 10 -l 0.1 --coin")
    assert isinstance(model, multiclass.OneVsRest)
    assert reader(io.StringIO("1 |a b\n")).interactions == ("ab",)


@pytest.mark.parametrize(
    "line",
    [
        "vw -d FILE -b 20 -q ab --cubic abb --ignore c --loss_function logistic -f model.ms",
        "-d FILE --ngram a2 --ngram b3 --skips a1 --keep ab",
        "--data FILE --oaa 3 --noconstant --passes 3 --holdout_off -k --cache_file x",
        "-d FILE --passes 2 --holdout_period 5 --loss_function logistic",
        "-d FILE --loss_function quantile --quantile_tau 0.9 --l2 1e-6",
        "-d FILE --loss_function logistic --bootstrap 3",
    ],
)
def test_code_makes_what_is_returned(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.vw"
    path.write_text("1 |a x y |b z\n-1 |a y |b z w\n" * 20)
    translation = made(line.replace("FILE", str(path)))
    names: dict[str, Any] = {}
    exec(translation.code, names)
    assert repr(names["reader"]) == repr(translation.reader)
    assert repr(names["model"]) == repr(translation.model)
    assert names["model"].learned > 0 or names["result"].model.learned > 0


@pytest.mark.parametrize(
    "options", ["--csoaa 2", "--wap 2 --passes 2", "--csoaa_ldf m", "--wap_ldf m", "--csoaa 2 -t"]
)
def test_code_learns_costs(options: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.vw"
    lines = "1:0 |a x\n2:1 |a y\n\n" if "ldf" in options else "1:0 2:1 |a x\n1:1 2:0 |a y\n"
    path.write_text(lines * 20)
    translation = made(f"-d {path} {options}")
    names: dict[str, Any] = {}
    exec(translation.code, names)
    assert repr(names["reader"]) == repr(translation.reader)
    assert repr(names["model"]) == repr(translation.model)
    learned = sum(member.learned for member in names["model"].members.values())
    assert (learned == 0) == ("-t" in options.split())


def test_other_options_get_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    compat.from_vw("-q ab --nn 5 --cb_explore_adf --bfgs --quiet")
    shown = capsys.readouterr().out
    for option in ("--nn 5: ", "--cb_explore_adf: ", "--bfgs: ", "--quiet: "):
        assert f"# {option}" in shown
    assert 'reader = stream.read_vw("train.vw", interactions=["ab"])' in shown
    assert all(words[0].islower() or words[0] in "L`-" for words in INSTEAD.values())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--quadratik ab", "must have options of VW, got '--quadratik'"),
        ("-b", "--bit_precision must have a value"),
        ("-b many", "--bit_precision must be an integer, got 'many'"),
        ("-l fast", "--learning_rate must be a number"),
        ("--loss_function odd", "--loss_function must be one of squared"),
        ("--ngram ab", "--ngram must be a number"),
        ("--sgd=1", "options of VW"),
        ("-d 'x", "closed quotes"),
        ("-q a", "two or more namespaces"),
        (3, "must be a string"),
    ],
)
def test_bad_lines_are_refused(line: Any, words: str) -> None:
    with pytest.raises((errors.InvalidValue, errors.InvalidType), match=words):
        made(line if line != "-q a" else "-q a -d lines.vw")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "--loss_function logistic",
        "--loss_function logistic -q ab",
        "--loss_function logistic -l 0.2 --power_t 0.3 --noconstant",
        # VW takes its gradients at predictions within a range, which here never ends them.
        "--loss_function squared -q ab --ignore_linear a --min_prediction -99 --max_prediction 99",
        "--loss_function hinge --ngram 2 --min_prediction -99 --max_prediction 99",
        "--loss_function quantile --quantile_tau 0.3 --sgd -l 0.05 --power_t 0 --min_prediction -99 "
        "--max_prediction 99",
    ],
)
def test_losses_are_those_of_vowpal_wabbit(options: str, tmp_path: Path) -> None:
    vowpal = pytest.importorskip("vowpalwabbit")
    draw = np.random.default_rng(7)
    weights = {f"{space}{place}": draw.normal() for space in "ab" for place in range(30)}
    lines = []
    for _ in range(4000):
        chosen = {space: draw.choice(30, 3, replace=False) for space in "ab"}
        score = sum(weights[f"{space}{place}"] for space, places in chosen.items() for place in places)
        words = " ".join(f"|{space} " + " ".join(f"{space}{p}" for p in ps) for space, ps in chosen.items())
        lines.append(f"{1 if score + draw.normal() > 0 else -1} {words}\n")
    path = tmp_path / "lines.vw"
    path.write_text("".join(lines))
    workspace = vowpal.Workspace(f"--quiet -d {path} {options}")
    wanted = workspace.get_sum_loss() / len(lines)
    workspace.finish()
    translation = made(f"-d {path} {options}")
    loss = {
        "logistic": lambda y, z: np.log1p(np.exp(-y * z)),
        "squared": lambda y, z: (y - z) ** 2,
        "hinge": lambda y, z: max(0.0, 1 - y * z),
        "quantile": lambda y, z: max(0.3 * (y - z), 0.7 * (z - y)),
    }[options.split()[1]]
    reader, model = translation
    ask = getattr(model, "score_one", model.predict_one)
    total = 0.0
    for x, y in reader:
        total += loss(y, ask(x) or 0.0)
        model.learn_one(x, y)
    assert total / len(lines) == pytest.approx(wanted, abs=1e-3)


def test_reader_and_model_work_together() -> None:
    reader, model = made("-q ui --loss_function logistic")
    text = "1 |user ann |item red\n-1 |user ann |item blue\n-1 |user bob |item red\n1 |user bob |item blue\n" * 50
    result = evaluate.prequential(model, reader(io.StringIO(text)))
    assert result["Accuracy"] > 0.9
    assert isinstance(made("-d -").reader, stream.SparseText)
