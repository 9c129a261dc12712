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
    compat.from_vw("-q ab --nn 5 --lda 4 --bfgs --quiet")
    shown = capsys.readouterr().out
    for option in ("--nn 5: ", "--lda 4: ", "--bfgs: ", "--quiet: "):
        assert f"# {option}" in shown
    assert 'reader = stream.read_vw("train.vw", interactions=["ab"])' in shown
    assert all(words[0].islower() or words[0] in "L`-" for words in INSTEAD.values())
    compat.from_vw("--all_slots_loss --max_labels 3")
    assert "# --max_labels 3: millstream has no counterpart." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("--cb_explore_adf --epsilon 0.1", "EpsilonGreedy(epsilon=0.1), products=False"),
        ("--cb_explore_adf -q sa --squarecb --gamma_scale 5", "explore=SquareCB(gamma_scale=5.0)"),
        (
            "--cb_explore_adf -q sa --regcb --cb_min_cost -1 --cb_max_cost 0",
            "optimistic=False), reward_range=[0.0, 1.0]",
        ),
        ("--cb_explore_adf -q sa --regcbopt --mellowness 0.01", "explore=RegCB()"),
        (
            "--cb_explore_adf -q sa --bag 4 --greedify --cb_type dr",
            "Bag(n_models=4, greedify=True), estimate='dr'",
        ),
        ("--cb_explore_adf -q sa --cover 3 --psi 0.1 --nounif", "Cover(n_policies=3, psi=0.1, epsilon=0.0)"),
        ("--cb_explore_adf -q sa --softmax --lambda 4", "Softmax(sharpness=4.0)"),
        ("--cb_explore_adf -q sa --first 10", "SquareCB()"),
        ("--cb_adf --cb_type ips", "explore=Greedy(), estimate='ips'"),
        ("--cb 4", "explore=Greedy())"),
        ("--cb_explore 4", "explore=EpsilonGreedy())"),
        ("--cbify 10", "explore=EpsilonGreedy())"),
        ("--ccb_explore_adf -q sa", "Slots(policy=Contextual("),
        ("--cats 8 --min_value 0 --max_value 16 --bandwidth 2", "Continuous(low=0.0, high=16.0, bandwidth=2.0"),
        ("--log_multi 1000", "LabelTree(model=LogisticRegression("),
        ("--recall_tree 1000", "LabelTree(model=LogisticRegression("),
        ("--ect 10", "OneVsRest(model=LogisticRegression("),
        ("--active --loss_function logistic", "ImportanceWeighted(model=LogisticRegression("),
    ],
)
def test_policies_and_trees(line: str, model: str) -> None:
    found = made(line).model
    assert model in repr(found)
    if hasattr(found, "decide_one"):
        context = ({"a": 1.0},) if type(found).__name__ == "Continuous" else ({"a": 1.0}, ["x", "y"])
        assert found.decide_one(*context)


def test_code_learns_rounds(tmp_path: Path) -> None:
    text = tmp_path / "rounds.vw"
    text.write_text("shared |s a\n0:-1:0.5 |a x\n|a y\n\nshared |s b\n|a x\n0:0:0.5 |a y\n\n" * 20)
    lines = tmp_path / "rounds.dsjson"
    stream.write_dsjson(stream.read_vw(text, labels="actions"), lines)
    for line in (
        f"-d {text} --cb_explore_adf --squarecb -q sa",
        f"--dsjson -d {lines} --cb_explore_adf -q sa -b 20",
    ):
        names: dict[str, Any] = {}
        exec(made(line).code, names)
        assert names["model"].learned == 40 or names["probabilities"].matrix.shape == (40, 2)
        names = {}
        exec(made(line + " -t").code, names)
        assert [len(found) for found in names["probabilities"]] == [40]


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
        ("--cats 4", "--cats needs --min_value"),
        ("--cb_explore_adf --cb_type odd", "--cb_type must be one of mtr"),
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
