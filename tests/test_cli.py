"""The command line."""

import json
import subprocess
import sys

import pytest

import millstream
from millstream import cli


def run(capsys, *arguments):
    code = cli.main(arguments)
    return code, *capsys.readouterr()


def test_list_names_every_part(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == millstream.find()


def test_list_of_one_role_as_json(capsys):
    code, out, _ = run(capsys, "list", "--role", "classifier", "--json")
    entries = json.loads(out)
    assert code == 0
    assert [entry["name"] for entry in entries] == millstream.find(role="classifier")
    assert {entry["role"] for entry in entries} == {"classifier"}


@pytest.mark.parametrize("name", millstream.find())
def test_describe_shows_words_and_parameters(capsys, name):
    code, out, _ = run(capsys, "describe", name)
    declared = json.loads(run(capsys, "describe", name, "--json")[1])
    assert code == 0
    assert out.startswith(f"{name} ({declared['role']})")
    for parameter in declared["parameters"]:
        assert f"\n{parameter['name']}: {parameter['must_be']}, " in out


def test_a_wrong_name_is_one_line_and_a_code(capsys):
    code, out, err = run(capsys, "describe", "linear_model.Logistic")
    assert (code, out) == (2, "")
    assert err == (
        "millstream: no part named 'linear_model.Logistic', did you mean 'linear_model.LogisticRegression'?\n"
    )


def test_a_wrong_role_names_the_roles(capsys):
    code, _, err = run(capsys, "list", "--role", "classifer")
    assert code == 2
    assert "role must be one of " in err
    assert "classifier" in err


def test_version_from_a_shell():
    done = subprocess.run([sys.executable, "-m", "millstream", "--version"], capture_output=True, text=True)
    assert done.stdout == f"millstream {millstream.__version__}\n"
