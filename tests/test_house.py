"""The house: names, links, versions, and that nothing added to the registry is forgotten elsewhere."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import millstream
from benchmarks import covariances, forecasters, generators, learners, running_statistics, samplers, sketches

TOP = Path(__file__).parent.parent


def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [Path(name) for name in done.stdout.split("\0") if name and (TOP / name).is_file()]


def build_of_docs():
    spec = importlib.util.spec_from_file_location("docs_build", TOP / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_room_for_odds_and_ends():
    forbidden = {"utils", "util", "misc", "common", "helpers", "helper"}
    assert [path for path in tracked() if {part.split(".")[0] for part in path.parts} & forbidden] == []


def test_no_paths_of_one_machine():
    # Spelled in pieces, so that this file does not find itself.
    pattern = re.compile("|".join(["/" + "home/", "/" + "root/", "/" + "Users/", "/" + "tmp/ms", "/" + "work/"]))
    texts = [path for path in tracked() if path.suffix not in {".mill", ".bin", ".png"}]
    found = []
    for path in texts:
        try:
            text = (TOP / path).read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{path}: {match[0]}" for match in pattern.finditer(text)]
    assert found == []


def test_one_version():
    cargo = tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
    changelog = re.search(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1]
    assert cargo == project == millstream.__version__ == changelog


def test_core_knows_no_python_and_no_unsafe():
    manifest = tomllib.loads((TOP / "crates/millstream-core/Cargo.toml").read_text())
    assert not {"pyo3", "numpy"} & set(manifest["dependencies"])
    assert tomllib.loads((TOP / "Cargo.toml").read_text())["workspace"]["lints"]["rust"]["unsafe_code"] == "forbid"


def test_links_hold():
    assert build_of_docs().broken_links() == []


@pytest.mark.slow
def test_reference_and_glossary_are_up_to_date():
    docs = build_of_docs()
    pages = docs.reference()
    assert set(docs.MODULES.glob("*.md")) | {docs.REFERENCE} == set(pages), "run make docs"
    assert [page for page, text in pages.items() if page.read_text() != text] == [], "run make docs"
    assert docs.NAMES.read_text() == docs.glossary(), "run make docs"


def test_tables_and_lists_of_the_reference():
    docs = build_of_docs()
    event = docs.describe_object("drift", "Event", millstream.drift.Event)
    rows = [line for line in event.splitlines() if line.startswith("| `")]
    assert [re.split(r"(?<!\\)\|", row)[3:] for row in rows] == [[""]] * 7
    body = "stream\n    One of:\n\n    - an array,\n      or two;\n    - a file.\nseeds\n    How many."
    listed = ["- `stream`: One of:", "  - an array, or two;", "  - a file.", "- `seeds`: How many."]
    assert docs._definitions(body).splitlines() == listed


@pytest.mark.parametrize(
    "role",
    [
        "drift_detector",
        "feature_drift_detector",
        "metric",
        "sketch",
        "statistic",
        "covariance_estimator",
        "policy_estimator",
    ],
)
def test_help_has_words_for_parameters(role):
    for name in millstream.find(role):
        kind = millstream.registry.class_of(name)
        for parameter in millstream.registry.entry(name)["parameters"]:
            words = getattr(kind, parameter["name"]).__doc__
            assert words, f"{name}: {parameter['name']}"
            assert "partial" not in words


def test_every_part_is_documented():
    assert build_of_docs().undocumented() == []


@pytest.mark.parametrize("name", learners.names())
def test_every_learner_has_a_benchmark_row(name):
    model = millstream.build(learners.describe(name))
    assert model.role in learners.ROLES


@pytest.mark.parametrize("name", forecasters.names())
def test_every_forecaster_has_a_benchmark_row(name):
    (comparison,) = forecasters.comparisons(0.001, [name])
    assert millstream.build(forecasters.describe(name)).role == "forecaster"
    errors = [side.prepare()().quality for side in comparison.sides]
    assert errors == pytest.approx([errors[0]] * len(errors), rel=1e-9)


@pytest.mark.parametrize("name", samplers.names())
def test_every_sampler_has_a_benchmark_row(name):
    (comparison,) = samplers.comparisons(0.001, [name])
    assert millstream.build(samplers.describe(name)).role == "sampler"
    # Both ways of learning leave the same sample.
    many, one = (side.prepare()() for side in comparison.sides[:2])
    assert many.memory == pytest.approx(one.memory, rel=0.5)


@pytest.mark.parametrize("name", sketches.names())
def test_every_sketch_has_a_benchmark_row(name):
    (comparison,) = sketches.comparisons(0.001, [name])
    assert millstream.build(sketches.describe(name)).role == "sketch"
    # Both ways of adding leave the same sketch; its buffers may grow in other steps.
    many, one = (side.prepare()() for side in comparison.sides[:2])
    assert many.memory == pytest.approx(one.memory, rel=0.7)


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module in (covariances, running_statistics) for name in module.names()],
)
def test_every_statistic_and_covariance_estimator_has_a_benchmark_row(module, name):
    (comparison,) = module.comparisons(0.001, [name])
    assert comparison.title == name
    assert [side.name for side in comparison.sides][:2] == ["millstream, update_many", "millstream"]
    for side in comparison.sides:
        side.prepare()()


@pytest.mark.parametrize("name", generators.names())
def test_every_generator_has_a_benchmark_row(name):
    stream = millstream.build(generators.describe(name))
    assert len(next(stream.chunks(10))) == 10


def test_requirements_are_pinned_and_name_no_place():
    for path in (TOP / "requirements").glob("*.txt"):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert lines
        assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line) for line in lines)


def test_every_target_of_the_makefile_has_its_words():
    text = (TOP / "Makefile").read_text()
    described = set(re.findall(r"^([a-z-]+):.*## ", text, flags=re.MULTILINE))
    assert described == set(re.search(r"\.PHONY: (.*)", text)[1].split())
    assert {"help", "demo", "test", "bench", "lint", "docs", "build", "clean"} <= described
