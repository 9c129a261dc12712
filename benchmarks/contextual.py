"""Policies with context against Vowpal Wabbit and River: speed, and regret under a known truth.

`rows()` makes the rows of DECISIONS.md. The data are made from seeds; both sides take turns in one run.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from millstream import bandit, linear_model, rounds, stream

ACTIONS, FEATURES, SHARED = 20, 10, 20


def world(n: int) -> dict[str, Any]:
    """Rounds logged uniformly: 20 actions of 10 features, 20 shared features, a bilinear logistic truth."""
    g = np.random.default_rng(104)
    weights = g.normal(size=(SHARED, FEATURES)) / np.sqrt(SHARED)
    actions = g.normal(size=(ACTIONS, FEATURES))
    # The draws follow the order of 20,000 rounds, so that fewer rounds are a part of them.
    shared = g.normal(size=(20_000, SHARED))
    truth = 1 / (1 + np.exp(-(shared @ weights @ actions.T)))
    taken = g.integers(0, ACTIONS, size=20_000)
    reward = (g.random(20_000) < truth[np.arange(20_000), taken]).astype(float)
    return {
        "shared": shared[:n],
        "actions": actions,
        "truth": truth[:n],
        "taken": taken[:n],
        "reward": reward[:n],
    }


def action_lines(actions: Any) -> list[str]:
    """The lines of the actions."""
    return [
        f"|a id={k} " + " ".join(f"x{j}:{actions[k, j]:.4f}" for j in range(FEATURES)) for k in range(len(actions))
    ]


def shared_line(row: Any) -> str:
    """The line of the context."""
    return "shared |s " + " ".join(f"s{j}:{value:.4f}" for j, value in enumerate(row))


def write_text(data: dict[str, Any], path: Path) -> None:
    """The rounds as Vowpal Wabbit's text."""
    lines = action_lines(data["actions"])
    with path.open("w") as file:
        for row, taken, reward in zip(data["shared"], data["taken"], data["reward"], strict=True):
            file.write(shared_line(row) + "\n")
            for k, line in enumerate(lines):
                file.write((f"0:{-reward:g}:0.05 " if k == taken else "") + line + "\n")
            file.write("\n")


def write_json(data: dict[str, Any], path: Path) -> None:
    """The rounds as dsjson."""
    multi = [
        {"a": {"id": str(k), **{f"x{j}": round(float(data["actions"][k, j]), 4) for j in range(FEATURES)}}}
        for k in range(ACTIONS)
    ]
    with path.open("w") as file:
        for i, (row, taken, reward) in enumerate(zip(data["shared"], data["taken"], data["reward"], strict=True)):
            order = [int(taken) + 1] + [k + 1 for k in range(ACTIONS) if k != taken]
            line = {
                "_label_cost": -reward,
                "_label_probability": 0.05,
                "_label_Action": int(taken) + 1,
                "_labelIndex": int(taken),
                "o": [{"v": reward, "EventId": f"e{i}", "ActionTaken": False}],
                "Timestamp": "2020-01-01T00:00:00.0000000Z",
                "Version": "1",
                "EventId": f"e{i}",
                "a": order,
                "c": {"s": {f"s{j}": round(float(value), 4) for j, value in enumerate(row)}, "_multi": multi},
                "p": [0.05] * ACTIONS,
                "VWState": {"m": "x/1"},
            }
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def policies() -> dict[str, tuple[str, Any]]:
    """The options of Vowpal Wabbit, and our policy."""

    def linear() -> Any:
        return linear_model.LinearRegression(optimizer="adaptive")

    return {
        "epsilon 0.1": (
            "--epsilon 0.1",
            lambda: bandit.Contextual(linear(), explore=bandit.explore.EpsilonGreedy(0.1)),
        ),
        "SquareCB": ("--squarecb", lambda: bandit.Contextual(linear(), explore="squarecb")),
        "bag of 5": ("--bag 5", lambda: bandit.Contextual(linear(), explore=bandit.explore.Bag(5))),
    }


def run_log(policy: Any, batches: Any) -> tuple[float, Any]:
    """Seconds to predict and learn a log, and the probabilities."""
    start = time.perf_counter()
    probabilities = [policy.step_many(batch).matrix for batch in batches]
    return time.perf_counter() - start, np.concatenate(probabilities)


def run_vw(options: str, path: Path, folder: Path, data: dict[str, Any]) -> tuple[float, float]:
    """Seconds (without set-up) and the value under the truth of VW on a file."""
    import subprocess

    command = [sys.executable, "-m", "vowpalwabbit", "--cb_explore_adf", "-b", "18", "-q", "sa", "--quiet"]
    command += options.split() + (["--dsjson"] if path.suffix == ".dsjson" else [])
    empty = folder / "empty"
    empty.write_text("")

    def seconds(file: Path, *more: str) -> float:
        start = time.perf_counter()
        subprocess.run([*command, "-d", str(file), *more], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start

    spent = seconds(path) - seconds(empty)
    seconds(path, "-p", str(folder / "predictions"))
    value, row = 0.0, 0
    for line in (folder / "predictions").read_text().splitlines():
        if line.strip():
            p = np.zeros(ACTIONS)
            for pair in line.split(","):
                action, probability = pair.split(":")
                p[int(action)] = float(probability)
            value += float(p @ data["truth"][row])
            row += 1
    return spent, value / row


def rows(n: int = 20_000, turns: int = 3) -> list[dict[str, Any]]:
    """The rows of the table: work, what the peer and we reached, and the goal."""
    data = world(n)
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, lines = folder / "cb.vw", folder / "cb.dsjson"
        write_text(data, text)
        write_json(data, lines)
        batch = rounds.Rounds.from_numpy(
            data["shared"],
            np.hstack([np.eye(ACTIONS), data["actions"]]),
            action=data["taken"],
            probability=0.05,
            reward=data["reward"],
        )
        for title, (options, make) in policies().items():
            peer, ours, arrays = [], [], []
            for _ in range(turns):
                peer.append(run_vw(options, text, folder, data))
                spent, p = run_log(make(), stream.read_vw(text, labels="actions").chunks())
                ours.append((spent, float((p * data["truth"]).sum(1).mean())))
                arrays.append(run_log(make(), [batch])[0])
            (theirs, their_value), (own, value) = min(peer), min(ours)
            found.append(_row(f"rounds of 20 actions from text, {title}", theirs, own, n, 4, value, their_value))
            found.append(_row(f"the same from NumPy, {title}", theirs, min(arrays), n, 12, value, their_value))
        peer, ours = [], []
        for _ in range(turns):
            peer.append(run_vw("--epsilon 0.1", lines, folder, data))
            spent, p = run_log(policies()["epsilon 0.1"][1](), stream.read_dsjson(lines).chunks())
            ours.append((spent, float((p * data["truth"]).sum(1).mean())))
        found.append(
            _row(
                "dsjson, the same rounds, epsilon 0.1",
                min(peer)[0],
                min(ours)[0],
                n,
                4,
                min(ours)[1],
                min(peer)[1],
            )
        )
        spent, p = run_log(bandit.Contextual(), [batch])
        value = float((p * data["truth"]).sum(1).mean())
        found.append(
            {
                "work": "the same log, our default: value",
                "peer": "",
                "reached": f"{value:.4f}, {n / spent:,.0f} rounds/s",
                "goal": "≥ 0.975",
                "met": value >= 0.975,
            }
        )
    return [*found, *loop_rows(), river_row(), digits_row()]


def _row(
    work: str, theirs: float, own: float, n: int, times: float, value: float, their_value: float
) -> dict[str, Any]:
    return {
        "work": work,
        "peer": f"VW {n / theirs:,.0f} rounds/s, value {their_value:.4f}",
        "reached": f"{n / own:,.0f} rounds/s ({theirs / own:.1f} ×), value {value:.4f}",
        "goal": f"{times:g} ×, value ≥ VW - 0.005",
        "met": theirs / own >= times and value >= their_value - 0.005,
    }


def closed_loop(policy: Any, data: dict[str, Any], seed: int, actions: Any, xs: Any) -> tuple[float, float]:
    """Seconds and regret of deciding and learning each round."""
    g = np.random.default_rng(seed)
    draws = g.random(len(xs))
    truth = data["truth"]
    best = truth.max(1)
    regret, start = 0.0, time.perf_counter()
    for i, x in enumerate(xs):
        action, _, key = policy.decide_one(x, actions)
        p = truth[i, action]
        regret += best[i] - p
        policy.learn_one(key, 1.0 if draws[i] < p else 0.0)
    return time.perf_counter() - start, float(regret)


def vw_loop(options: str, data: dict[str, Any], seed: int) -> tuple[float, float]:
    """The same loop with VW's Python package."""
    import vowpalwabbit

    vw = vowpalwabbit.Workspace("--cb_explore_adf -b 18 -q sa --quiet " + options)
    g = np.random.default_rng(seed)
    lines, truth = action_lines(data["actions"]), data["truth"]
    regret, start = 0.0, time.perf_counter()
    for i, row in enumerate(data["shared"]):
        shared = shared_line(row)
        p = np.array(vw.predict([shared, *lines]))
        p /= p.sum()
        k = int(g.choice(ACTIONS, p=p))
        reward = float(g.random() < truth[i, k])
        regret += truth[i].max() - truth[i, k]
        labelled = [(f"0:{-reward:g}:{p[j]:.6f} " if j == k else "") + lines[j] for j in range(ACTIONS)]
        vw.learn([shared, *labelled])
    spent = time.perf_counter() - start
    vw.finish()
    return spent, float(regret)


def loop_rows(n: int = 3000) -> list[dict[str, Any]]:
    """Closed loops from Python: rates and regret over three seeds."""
    data = world(n)
    xs = list(data["shared"])
    names = [f"s{j}" for j in range(SHARED)]
    dicts = [dict(zip(names, map(float, row), strict=True)) for row in data["shared"]]
    with_id = np.hstack([np.eye(ACTIONS), data["actions"]])
    by_name = {
        k: {"id": str(k), **{f"x{j}": float(v) for j, v in enumerate(row)}}
        for k, row in enumerate(data["actions"])
    }
    found = []
    vw_regret: dict[str, float] = {}
    for title, (options, make) in policies().items():
        peer, arrays, mappings, regrets, own = [], [], [], [], []
        for seed in (7, 8, 9):
            spent, regret = vw_loop(options, data, seed)
            peer.append(spent)
            regrets.append(regret)
            spent, regret = closed_loop(make(), data, seed, with_id, xs)
            arrays.append(spent)
            own.append(regret)
            mappings.append(closed_loop(make(), data, seed, by_name, dicts)[0])
        vw_regret[title] = float(np.mean(regrets))
        for what, spent, times in (("arrays", min(arrays), 15), ("dicts", min(mappings), 5)):
            found.append(
                {
                    "work": f"closed loop from Python, {what}, {title}",
                    "peer": f"VW {n / min(peer):,.0f} rounds/s, regret {np.mean(regrets):.0f}",
                    "reached": f"{n / spent:,.0f} rounds/s ({min(peer) / spent:.1f} ×), regret {np.mean(own):.0f}",
                    "goal": f"{times} ×",
                    "met": min(peer) / spent >= times,
                }
            )
    best = min(vw_regret.values())
    for title, make, goal in (
        ("LinUCB", lambda: bandit.LinUCB(reward_range=[0, 1]), 230.0),
        ("our default", lambda: bandit.Contextual(reward_range=[0, 1]), 0.65 * best),
    ):
        runs = [closed_loop(make(), data, seed, data["actions"], xs) for seed in (7, 8, 9)]
        regret = float(np.mean([run[1] for run in runs]))
        found.append(
            {
                "work": f"regret after {n:,} rounds, three seeds, {title}",
                "peer": f"VW's best {best:.0f}",
                "reached": f"{regret:.1f}, {n / min(run[0] for run in runs):,.0f} rounds/s",
                "goal": f"≤ {goal:.0f}",
                "met": regret <= goal,
            }
        )
    return found


def river_row(n: int = 3000, turns: int = 3) -> dict[str, Any]:
    """LinUCB one round at a time: an arm for each action, over the shared features, beside River."""
    from river import bandit as peer

    data = world(n)
    xs = [{f"s{j}": float(v) for j, v in enumerate(row)} for row in data["shared"]]
    draws = np.random.default_rng(7).random(n)
    arms = list(range(ACTIONS))
    paid = (draws[:, None] < data["truth"]).astype(float).tolist()
    best = data["truth"].max(1)

    def theirs() -> float:
        policy, regret = peer.LinUCBDisjoint(alpha=1.0, seed=1), 0.0
        for i, x in enumerate(xs):
            arm = policy.pull(arms, x)
            policy.update(arm, x, paid[i][arm])
            regret += best[i] - data["truth"][i, arm]
        return float(regret)

    def ours() -> float:
        policy, regret = bandit.LinUCB(alpha=1.0, seed=1), 0.0
        for i, x in enumerate(xs):
            arm, _, key = policy.decide_one(x, arms)
            policy.learn_one(key, paid[i][arm])
            regret += best[i] - data["truth"][i, arm]
        return float(regret)

    least, regrets = [float("inf")] * 2, [0.0, 0.0]
    for _ in range(turns):
        for place, run in enumerate((theirs, ours)):
            start = time.perf_counter()
            regrets[place] = run()
            least[place] = min(least[place], time.perf_counter() - start)
    ratio = least[0] / least[1]
    return {
        "work": "LinUCB, 20 arms × 20 features, one by one",
        "peer": f"River {n / least[0]:,.0f} rounds/s, regret {regrets[0]:.0f}",
        "reached": f"{n / least[1]:,.0f} rounds/s ({ratio:.1f} ×), regret {regrets[1]:.0f}",
        "goal": "20 ×",
        "met": ratio >= 20,
    }


def digits_row() -> dict[str, Any]:
    """The mean error on digits over five seeds, with the settings of the closed loop."""
    seeds = range(107, 112)
    errors = [digits(seed, bandit.Contextual(reward_range=[0, 1])) for seed in seeds]
    theirs = [vw_digits(seed) for seed in seeds]
    return {
        "work": "digits as a bandit, five seeds, mean error, our default",
        "peer": f"VW SquareCB {np.mean(theirs):.4f} ± {np.std(theirs, ddof=1):.4f}",
        "reached": f"{np.mean(errors):.4f} ± {np.std(errors, ddof=1):.4f}",
        "goal": "≤ 0.06",
        "met": float(np.mean(errors)) <= 0.06,
    }


def digits_in_order(seed: int, passes: int = 5) -> tuple[Any, Any]:
    """Features and labels of scikit-learn's digits, in several random orders one after the other."""
    from sklearn.datasets import load_digits

    features, labels = load_digits(return_X_y=True)
    g = np.random.default_rng(seed)
    order = np.concatenate([g.permutation(len(labels)) for _ in range(passes)])
    return features[order] / 16.0, labels[order]


def vw_digits(seed: int) -> float:
    """The error of VW's SquareCB, which makes the rounds itself."""
    import vowpalwabbit

    vw = vowpalwabbit.Workspace("--cbify 10 --cb_explore_adf --squarecb --quiet -b 18")
    for x, label in zip(*digits_in_order(seed), strict=True):
        words = " ".join(f"p{j}:{value:.4f}" for j, value in enumerate(x) if value)
        vw.learn(f"{label + 1} |f {words}")
    error = vw.get_sum_loss() / vw.get_weighted_examples()
    vw.finish()
    return float(error)


def digits(seed: int, policy: Any, passes: int = 5) -> float:
    """The error of a policy on the digits, of which it sees only whether its answer was right."""
    errors = 0
    actions = list(range(10))
    features, labels = digits_in_order(seed, passes)
    for x, label in zip(features, labels, strict=True):
        action, _, key = policy.decide_one(x, actions)
        errors += action != label
        policy.learn_one(key, float(action == label))
    return errors / len(labels)


if __name__ == "__main__":
    for row in rows():
        print(row)
