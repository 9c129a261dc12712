"""Names and labels of strangers on a terminal and on pages: nothing in them controls the one or the other."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from millstream import compose, drift, linear_model, naive_bayes, stream, tree
from millstream._echo import visible
from millstream.cli.main import main

#: Clears the screen, sets the title, overrides the direction of writing, breaks the line, is a tag.
HOSTILE = "x\x1b[2J\x1b]0;t\x07\u202e\u2066\x9b31m\r\n<script>alert(1)</script>\u200b"
LABELS = ("good\x1b[31m\u202e", "bad\x9b\nforged line")

#: What may be on a terminal beside printable characters: line breaks and our own two styles.
STYLES = re.compile(r"\x1b\[[012]m")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([HOSTILE, f"{HOSTILE}2", "n\x1b[1m", f"class{HOSTILE}"])
        for i in range(600):
            label = LABELS[i % 3 == 0]
            writer.writerow([i % 3 + i / 1000, f"v{i % 2}{HOSTILE}", (i * 7) % 11, label])
    return path


@pytest.fixture(scope="module")
def saved(rows: Path) -> dict[str, Path]:
    source = stream.read_csv(rows, target=f"class{HOSTILE}")
    models: dict[str, Any] = {
        "bayes": naive_bayes.GaussianNB(),
        "tree": tree.HoeffdingTreeClassifier(grace_period=50, delta=0.1),
        "weights": linear_model.LogisticRegression(),
        "selected": compose.Select(HOSTILE, "n\x1b[1m") | linear_model.LogisticRegression(),
    }
    for name, model in models.items():
        for chunk in source.chunks():
            X = chunk.X.select([HOSTILE, "n\x1b[1m"]) if name in ("weights", "selected") else chunk.X
            model.learn_many(X, chunk.y)
        model.save(rows.parent / f"{name}.ms")
    monitor = drift.Monitor({HOSTILE: drift.PageHinkley(threshold=1)})
    for i in range(300):
        monitor.update(float(i > 150))
    monitor.save(rows.parent / "monitor.ms")
    return {name: rows.parent / f"{name}.ms" for name in (*models, "monitor")}


def run(*arguments: Any) -> tuple[int, str, str]:
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    for file in (out, errors):
        file.flush()
    return code, out.buffer.getvalue().decode(), errors.buffer.getvalue().decode()  # type: ignore[attr-defined]


def check(text: str, what: Any) -> None:
    for line in text.split("\n"):
        assert line.isprintable(), (what, line)
    assert not re.search("^forged|^<script", text, re.MULTILINE), (what, text)


def test_commands_print_no_control_characters(rows: Path, saved: dict[str, Path], tmp_path: Path) -> None:
    target = f"class{HOSTILE}"
    commands: list[list[Any]] = [
        ["run", rows, "-t", target],
        ["run", rows, "-t", target, "--json"],
        ["run", rows, "-t", target, "-m", "GaussianNB", "--report", tmp_path / "report.html"],
        ["run", rows, "-t", HOSTILE, "-m", "LogisticRegression", "--on-error", "skip"],
        ["run", rows],
        ["run", rows, "-t", "mistyped\x1b[31m"],
        ["run", f"{rows}\x1b[31m", "-t", "y"],
        ["compare", rows, "-t", target, "-m", "GaussianNB", "-m", "MajorityClass"],
        ["compare", rows, "-t", target, "--json"],
        ["drift", rows, "-t", HOSTILE, "--detector", "PageHinkley(threshold=1)"],
        ["drift", rows, "-t", HOSTILE, "--detector", "PageHinkley(threshold=1)", "--json"],
        ["predict", rows, "--load", saved["bayes"], "--out", tmp_path / "out.csv", "--on-error", "skip"],
        ["predict", rows, "--load", saved["bayes"], "-t", HOSTILE, "--out", tmp_path / "out.jsonl", "--json"],
        ["predict", rows, "--load", saved["weights"], "--out", tmp_path / "out.csv"],
        ["\x1b[31mrun"],
        ["run", "--no-such-\x1b[31m-option"],
        *(["inspect", path] for path in saved.values()),
        *(["inspect", path, "--json"] for path in saved.values()),
    ]
    for command in commands:
        code, out, errors = run(*command)
        assert "Traceback" not in errors, (command, errors)
        assert "bug" not in errors, (command, errors)
        check(out, command)
        check(errors, command)
        assert out or errors or code == 0
        if "--json" in command and code == 0:
            json.loads(out)


def test_json_says_what_the_names_are(saved: dict[str, Path]) -> None:
    found = json.loads(run("inspect", saved["bayes"], "--json")[1])
    assert HOSTILE in found["features"]
    assert set(found["classes"]) == set(LABELS)


def test_data_are_written_unchanged_to_files_and_pipes(rows: Path, saved: dict[str, Path], tmp_path: Path) -> None:
    code, out, _ = run("predict", rows, "--load", saved["bayes"], "--drop", f"class{HOSTILE}")
    assert code == 0
    run("predict", rows, "--load", saved["bayes"], "--drop", f"class{HOSTILE}", "--out", tmp_path / "out.csv")
    assert out == (tmp_path / "out.csv").read_bytes().decode()
    assert LABELS[0] in out


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals here")
def test_a_terminal_gets_escapes(rows: Path, saved: dict[str, Path]) -> None:
    import pty

    for command in (
        ["predict", rows, "--load", saved["bayes"], "--drop", f"class{HOSTILE}", "--limit", 20],
        ["generate", rows, "--limit", 5, "--to", "vw"],
        ["inspect", saved["tree"]],
    ):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "millstream", *map(str, command)],
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
        )
        os.close(theirs)
        data = b""
        # At the end a terminal gives an error on Linux, nothing elsewhere.
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            data += piece
        os.close(ours)
        assert process.wait() == 0, command
        text = STYLES.sub("", data.decode().replace("\r\n", "\n"))
        assert text.strip()
        for line in text.split("\n"):
            # Tabs cannot come from the names here.
            assert line.isprintable(), (command, line)


def test_pages_show_no_control_characters(rows: Path, saved: dict[str, Path], tmp_path: Path) -> None:
    import millstream
    from millstream import evaluate

    source = stream.read_csv(rows, target=f"class{HOSTILE}")
    model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.1)
    result = evaluate.prequential(model, source, ["Accuracy", "LogLoss"], progress=False)
    both = evaluate.prequential(
        {HOSTILE: naive_bayes.GaussianNB(), "b": tree.HoeffdingTreeClassifier()}, source, progress=False
    )
    pages = {
        "report": result.to_html(title=HOSTILE, command=f"millstream run {HOSTILE}"),
        "comparison": both.to_html(),
        "fragment": result._repr_html_(),
        "stream": source._repr_html_(),
        "tree": model.draw()._repr_html_(),
        "model": model._repr_html_(),
        "monitor": millstream.load(saved["monitor"])._repr_html_(),
        "selected": millstream.load(saved["selected"])._repr_html_(),
    }
    model.draw().save(tmp_path / "tree.html")
    pages["file"] = (tmp_path / "tree.html").read_text(encoding="utf-8")
    for name, page in pages.items():
        assert page == visible(page), name
        assert "<script>alert" not in page, name
        assert "\x1b" not in page, name
        assert "\u202e" not in page, name
    text = model.draw().text
    assert all(line.isprintable() for line in text.split("\n"))
    assert "forged line" not in [line[:11] for line in text.split("\n")]
