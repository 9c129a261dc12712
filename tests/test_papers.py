"""The experiments of papers: they repeat, their figures are those of the formulas, and they are quick."""

import json

import numpy as np
import pytest
from numpy.polynomial import legendre

from millstream import papers
from millstream.cli.main import main
from millstream.errors import InvalidValue
from millstream.papers import irma
from millstream.papers.irma.published import EXAMPLES, ORDERS, TABLE

pytestmark = pytest.mark.linear_algebra


@pytest.fixture(scope="module")
def result():
    return irma.reproduce(sequences=100, runs=40, progress=False)


def orthonormal(x, order):
    return legendre.legvander(2 * x / 3 - 1, order) * np.sqrt((2 * np.arange(order + 1) + 1) / 3)


@pytest.mark.slow
def test_incremental_cells_are_those_of_the_formula(result):
    """Equations 8 and 9 in NumPy, in an orthonormal basis, where A is the identity."""
    x, y = irma.draw(100, 1)
    grid = np.linspace(0, 3, 1000)
    for order in ORDERS:
        phi, at = orthonormal(x, order), orthonormal(grid, order)
        theta, stiffness = np.zeros((100, order + 1)), 0.1
        for t in range(150):
            p = phi[:, t]
            error = y[:, t] - np.sum(theta * p, axis=1)
            theta = theta + p * (error / (stiffness + np.sum(p * p, axis=1)))[:, None]
            stiffness *= 1.05
            if t + 1 in EXAMPLES:
                errors = np.mean((theta @ at.T - irma.target(grid)) ** 2, axis=1)
                cell = result.cell(order, t + 1, "incremental")
                assert cell.mean == pytest.approx(errors.mean(), rel=1e-8)
                assert cell.variance == pytest.approx(errors.var(ddof=1), rel=1e-8)
                assert cell.std**2 == pytest.approx(cell.variance)


def test_batch_cells_are_those_of_least_squares(result):
    x, y = irma.draw(100, 1)
    grid = np.linspace(0, 3, 1000)
    for order, n in ((4, 80), (6, 150), (10, 150), (6, 10), (10, 10)):
        errors = []
        for row in range(100):
            theta = np.linalg.lstsq(orthonormal(x[row, :n], order), y[row, :n], rcond=None)[0]
            errors.append(np.mean((orthonormal(grid, order) @ theta - irma.target(grid)) ** 2))
        assert result.cell(order, n, "batch").median == pytest.approx(np.median(errors), rel=1e-6)


def test_the_paper_is_near_where_it_says_what_it_did(result):
    for order in ORDERS[:2]:
        for n in (80, 150):
            assert 0.8 < result.cell(order, n, "batch").ratio < 1.25
    # The figures after ± are of the size of variances.
    for cell in result.table:
        if cell.examples > 10 and cell.order < 10:
            assert 0.2 < cell.variance / cell.paper_spread < 5
            assert cell.std / cell.paper_spread > 1000


def test_differences_are_shown_and_a_wider_region_explains_them(result):
    first = [result.cell(order, 10, "incremental").ratio for order in ORDERS]
    wider = [cell.ratio for cell in result.wider]
    assert min(first) > 1.15
    assert all(0.75 < ratio < 1.25 for ratio in wider)
    assert "× 1." in str(result)


def test_losses_are_in_the_order_of_figure_1(result):
    ends = {curve.name: curve.mean[-1] for curve in result.curves}
    assert ends["GD"] > 10 * ends["RLS"] > 100 * ends["IRMA"]
    # The rivals are as good where the basis is orthonormal: that is what IRMA does for any basis.
    assert ends["GD, orthonormal"] < 1.3 * ends["IRMA"]
    assert ends["RLS, orthonormal"] < 1.1 * ends["IRMA"]
    assert ends["to say 0"] == pytest.approx(np.mean(np.sum(irma.draw(40, 2)[1] ** 2, axis=1)))
    assert ends["IRMA"] < 0.1 * ends["to say 0"] < ends["to say 0"] < ends["RLS"]


def test_the_same_seed_gives_the_same_figures():
    first, again, other = (irma.reproduce(sequences=4, runs=2, seed=seed, progress=False) for seed in (1, 1, 9))
    assert again.table == first.table
    assert other.table != first.table


def test_what_is_not_said_and_what_is_wrong_is_printed(result):
    text, page = " ".join(str(result).split()), result._repr_html_()
    assert irma.CITATION in text
    for line in (*irma.CHOICES, *irma.MISTAKES):
        assert line in text
    assert page.count("<table>") == 3


def test_frames_and_plain_data(result):
    frame = result.to_frame("pandas")
    assert len(frame) == len(TABLE) == 18
    assert list(frame.columns[:3]) == ["order", "examples", "learning"]
    data = result.to_dict()
    assert len(data["table_1"]) == 18
    assert len(data["figure_1"]) == len(irma.models()) + 1
    with pytest.raises(InvalidValue, match="no cell of order 5"):
        result.cell(5, 10, "batch")
    with pytest.raises(InvalidValue, match="no curve 'SGD'"):
        result.curve("SGD")


@pytest.mark.slow
def test_figures_are_drawn(result, tmp_path):
    pytest.importorskip("matplotlib")
    written = result.save_plots(tmp_path / "here", (".png", ".svg"))
    assert [path.name for path in written] == [
        f"irma_figure_{number}{suffix}" for number in (1, 2) for suffix in (".png", ".svg")
    ]
    assert all(path.stat().st_size > 10_000 for path in written)
    assert len(result.plot(2).axes) == 12
    with pytest.raises(InvalidValue, match="figure must be 1 or 2"):
        result.plot(3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"sequences": 1}, "sequences must be at least 2"),
        ({"runs": 0}, "runs must be at least 2"),
        ({"bounds": (0.5, 3.0)}, "bounds must hold the inputs"),
    ],
)
def test_bad_arguments_are_refused(arguments, match):
    with pytest.raises(InvalidValue, match=match):
        irma.reproduce(progress=False, **arguments)


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_lists_papers(capsys):
    code, out, _ = run(capsys, "paper")
    assert code == 0
    assert all(name in out and citation in out for name, citation in papers.PAPERS.items())
    code, out, _ = run(capsys, "paper", "--json")
    assert json.loads(out) == papers.PAPERS


def test_the_command_knows_every_paper():
    from millstream.cli import paper

    assert tuple(papers.PAPERS) == paper._NAMES


@pytest.mark.slow
def test_the_command_prints_and_draws(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    few = ("--sequences", 5, "--runs", 3, "--quiet")
    code, out, err = run(capsys, "paper", "irma", *few, "--output", tmp_path, "--format", "svg")
    assert (code, err) == (0, "")
    assert "Table I" in out
    assert (tmp_path / "irma_figure_2.svg").exists()
    code, out, _ = run(capsys, "paper", "irma", *few, "--json", "--no-plots", "--bounds=-0.15,3.15")
    data = json.loads(out)
    assert code == 0
    assert data["settings"] == {"sequences": 5, "runs": 3, "seed": 1, "bounds": [-0.15, 3.15]}
    assert data["plots"] == []


def test_a_wrong_line_is_the_users_and_a_wrong_place_the_datas(capsys, tmp_path):
    assert run(capsys, "paper", "irna")[0] == 2
    assert run(capsys, "paper", "irma", "--bounds", "3")[0] == 2
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, "paper", "irma", "--output", tmp_path / "file")
    assert code == 1
    assert "is not a directory" in err
    assert run(capsys, "paper", "irma", "--bounds", "1,2", "--no-plots")[0] == 1
