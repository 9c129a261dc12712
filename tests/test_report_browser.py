"""Report pages in a real browser: no errors, nothing wider than the screen, choices that work, paper."""

from __future__ import annotations

import base64
import re
import shutil

import numpy as np
import pytest

from millstream import baseline, drift, evaluate, linear_model, naive_bayes, preprocessing, tree

webdriver = pytest.importorskip("selenium.webdriver")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="needs chromium and its driver: apt install chromium-driver"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    quiet = ("background-networking", "component-update", "sync", "gpu", "dev-shm-usage")
    folder = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--no-first-run",
        folder,
        *(f"--disable-{each}" for each in quiet),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def scaled():
    return preprocessing.StandardScaler() | linear_model.LogisticRegression()


def stream(rows=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 6))
    sign = np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return X, sign * X[:, 0] > X[:, 1]


def classes(rows=4000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, [f"a class with quite a long name, {number}" for number in rng.integers(0, 40, size=rows)]


RUNS = {
    "one": lambda: evaluate.prequential(
        scaled(),
        stream(),
        ["Accuracy", "CohenKappa", "LogLoss", "ROCAUC", "F1", "Precision", "Recall", "BalancedAccuracy"],
        delay=300,
        detector=drift.PageHinkley(threshold=30),
    ),
    "several": lambda: evaluate.prequential(
        {
            "scaler | logistic": scaled(),
            "bayes": naive_bayes.GaussianNB(),
            "majority" * 12: baseline.MajorityClass(),
        },
        stream(),
        ["Accuracy", "LogLoss"],
        detector=drift.PageHinkley(threshold=30),
    ),
    "many classes": lambda: evaluate.prequential(linear_model.SoftmaxRegression(), classes(), "LogLoss"),
    "numbers": lambda: evaluate.prequential(
        linear_model.LinearRegression(), (stream()[0], stream()[0][:, 0] * 1e6), ["MAE", "R2"]
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    RUNS[request.param]().to_html(path, command=f"millstream run {'x' * 200}.csv --target late")
    return path


def show(browser, path, width, *, dark=False):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    browser.get(path.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(fold => fold.open = true)")


def shown(browser, selector):
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length).length",
        selector,
    )


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(browser, page, width):
    show(browser, page, width)
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # Also inside: what is too wide scrolls in its own box.
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.ms *')].filter(e => !e.closest('.scroll *, svg, .hidden')"
        " && !e.matches('.hidden, .tabs > input')"
        " && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []
    assert shown(browser, "section h2") >= 4
    assert shown(browser, ".plot svg") >= 3


def test_text_can_be_read_on_light_and_dark(browser, page):
    """The contrast of each text with what is behind it, by the rules of WCAG 2 for normal text: 4.5."""
    for dark in (False, True):
        show(browser, page, 1280, dark=dark)
        worst = browser.execute_script(CONTRAST)
        assert worst[0] >= 4.5, (dark, worst)


def test_a_metric_is_chosen_without_scripts(browser, tmp_path):
    path = tmp_path / "page.html"
    RUNS["one"]().to_html(path)
    show(browser, path, 1280)
    panels = "return [...document.querySelectorAll('.panels > div')].map(e => getComputedStyle(e).display)"
    assert browser.execute_script(panels) == ["block"] + ["none"] * 7
    browser.find_elements("css selector", ".tabs label")[2].click()
    assert browser.execute_script(panels) == ["none", "none", "block"] + ["none"] * 5
    assert browser.find_element("css selector", ".tabs input:checked + label").text == "LogLoss"


def test_values_show_below_the_pointer(browser, tmp_path):
    path = tmp_path / "page.html"
    RUNS["several"]().to_html(path)
    first = ".ms > section > fieldset > .panels > div:first-child"
    for width in (400, 1280):
        show(browser, path, width)
        columns = browser.find_elements("css selector", f"{first} > .plot > .hits i")
        assert 20 < len(columns) <= 48
        for column in (columns[2], columns[-2]):
            webdriver.ActionChains(browser).move_to_element(column).perform()
            shown = browser.execute_script("return getComputedStyle(arguments[0], '::after').content", column)
            assert shown.startswith('"row ')
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width


JUPYTER = """
.jp-RenderedHTMLCommon dl dt { float: left; clear: left; width: 20%; font-weight: bold; }
.jp-RenderedHTMLCommon dl dd { padding-left: 25%; }
.jp-RenderedHTMLCommon { font-size: 14px; line-height: 1.6; padding-right: 20px; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { text-align: right; padding: .5em .5em; max-width: none; }
"""


def test_tiles_stay_whole_in_a_notebook(browser, tmp_path):
    """JupyterLab styles descriptions, tables and details by their elements, more strongly than the report."""
    path = tmp_path / "page.html"
    output = f'<div class="jp-RenderedHTMLCommon">{RUNS["one"]().report().text}</div>'
    path.write_text(f"<!doctype html><meta charset='utf-8'><style>{JUPYTER}</style>{output}", encoding="utf-8")
    show(browser, path, 1280)
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.tile .name')].map(e => e.getBoundingClientRect().height)"
    )
    assert len(heights) > 4
    # At most two lines.
    assert max(heights) < 50


def test_a_summary_without_style_is_readable(browser, tmp_path):
    """Untrusted notebooks and GitHub remove style and SVG from an output, but not images."""
    text = re.sub(
        r"<style>.*?</style>|<svg.*?</svg>|(?<=<div) class=[^>]*", "", RUNS["several"]()._repr_html_(), flags=re.S
    )
    path = tmp_path / "page.html"
    head = "<!doctype html><meta charset='utf-8'><meta name='viewport' content='width=device-width'><body>"
    path.write_text(f"{head}{text}", encoding="utf-8")
    show(browser, path, 400)
    assert (
        browser.execute_script("const i = document.querySelector('img'); return i.complete && i.naturalWidth")
        == 760
    )
    assert browser.execute_script("return document.querySelector('img').getBoundingClientRect().right") <= 400


def test_a_large_tree_has_sizes_and_an_outline(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    model = tree.HoeffdingTreeClassifier(grace_period=50, delta=0.01)
    model.learn_many(X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] > 0)
    assert model.n_nodes > 48
    path = tmp_path / "tree.html"
    model.draw(path)
    show(browser, path, 800)
    wide = "return document.querySelector('.ms-zoom svg').getBoundingClientRect().width"
    whole = browser.execute_script(wide)
    assert whole > 900
    browser.find_elements("css selector", ".ms-zoom label")[0].click()
    assert browser.execute_script(wide) < 800
    browser.find_elements("css selector", ".ms-zoom label")[1].click()
    assert browser.execute_script(wide) == pytest.approx(whole / 2, abs=1)
    lines = browser.execute_script(
        "return document.querySelectorAll('.ms-outline summary, .ms-outline div').length"
    )
    assert lines == model.n_nodes


def test_paper(browser, page):
    show(browser, page, 1280, dark=True)
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    document = base64.b64decode(printed["data"])
    assert document.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", document))
    # Nothing is too wide, so that the browser does not shrink the page.
    assert 1 <= pages <= 20
    # A4 at 72 points to the inch.
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45]\.\d+ 84[12]\.\d+", document)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    everything = browser.execute_script("return document.querySelectorAll('.panels > div').length")
    assert shown(browser, ".panels > div") == everything
    assert shown(browser, ".tabs > label") == 0
    assert (
        browser.execute_script("return getComputedStyle(document.querySelector('.ms')).color") == "rgb(23, 25, 28)"
    )


def test_a_wide_table_fits_on_paper(browser, tmp_path):
    models = {
        "StandardScaler | LogisticRegression": scaled(),
        "HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
    }
    path = tmp_path / "page.html"
    evaluate.prequential(models, stream(), ["LogLoss", "PRAUC", "ROCAUC", "Accuracy"]).to_html(path)
    # A4 without its margins.
    show(browser, path, 688)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    ends = browser.execute_script(
        "return [...document.querySelectorAll('.ms table')].map(e => e.getBoundingClientRect().right)"
    )
    assert len(ends) > 2
    assert max(ends) <= 688


def test_a_notebook_around_it_is_left_alone(browser, tmp_path):
    """Two outputs and a model beside the notebook's own table: nothing leaks out, and choices do not mix."""
    result = RUNS["one"]()
    own = "<h1 id='h'>Mine</h1><table id='t'><tr><td id='d'>1</td></tr></table><pre id='p'>x</pre>"
    styles = (
        "const s = id => { const c = getComputedStyle(document.getElementById(id));"
        " return [...c].map(name => c.getPropertyValue(name)).join() }; return ['h', 't', 'd', 'p'].map(s)"
    )
    alone, around = tmp_path / "alone.html", tmp_path / "around.html"
    start = "<!doctype html><meta charset='utf-8'><body style='width: 900px'>"
    alone.write_text(f"{start}{own}", encoding="utf-8")
    outputs = f"{result.report().text}{result.report().text}{result._repr_html_()}{result.model._repr_html_()}"
    around.write_text(f"{start}{own}{outputs}", encoding="utf-8")
    show(browser, alone, 1280)
    before = browser.execute_script(styles)
    show(browser, around, 1280)
    assert browser.execute_script(styles) == before
    browser.find_elements("css selector", ".tabs label")[1].click()
    chosen = "return [...document.querySelectorAll('.tabs input:checked + label')].map(e => e.textContent)"
    assert browser.execute_script(chosen) == ["CohenKappa", "Accuracy"]


CONTRAST = """
const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n };
const over = (top, bottom) => [0, 1, 2].map(i => top[i] * top[3] + bottom[i] * (1 - top[3])).concat(1);
const behind = e => {
  const layers = [];
  for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
};
const light = c => {
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = c.slice(0, 3).map(v => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
let worst = [99, ''];
for (const e of document.querySelectorAll('.ms *')) {
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.tagName === 'STYLE' || e.closest('.hidden') || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const ground = behind(e);
  const ink = over(parse(e.namespaceURI.endsWith('svg') ? style.fill : style.color), ground);
  const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
}
return worst;
"""
