"""The dashboard in a real browser: the numbers of a running server, reconnection, hostile names, both schemes."""

from __future__ import annotations

import re
import shutil
import time
from importlib.resources import files

import pytest

from millstream import linear_model, naive_bayes, preprocessing
from millstream.serve import Client, Server
from test_report_browser import CONTRAST

DASHBOARD = files("millstream.serve").joinpath("dashboard")


def test_the_pages_hold_no_way_to_turn_text_into_markup_and_load_nothing_from_elsewhere():
    for entry in DASHBOARD.iterdir():
        text = entry.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "Function(",
            " style=",
        ):
            assert word not in text, (entry.name, word)
        for url in re.findall(r"(?:https?:)?//[\w.-]+", text):
            assert url == "http://www.w3.org", (entry.name, url)


webdriver = pytest.importorskip("selenium.webdriver")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


def in_browser(test):
    """Mark a test that needs a browser."""
    reason = "needs chromium and its driver: apt install chromium-driver"
    return pytest.mark.slow(pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=reason)(test))


HOSTILE = "<img src=x onerror='window.hacked=1'>"


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def learn(client, model, count, start=0):
    for number in range(start, start + count):
        x = {"v": (number * 7 % 20) - 9.5, "<b>w</b>": number % 3}
        id = client.predict(model, x, id=f"{model}-{number}")["id"]
        client.label(model, id, x["v"] > 0)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A model and a route, with labels of several fates."""
    models = {
        "flights": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "one": naive_bayes.GaussianNB(),
        "other": linear_model.LogisticRegression(),
        "hostile": _Constant.named(HOSTILE),
    }
    with Server(models=models, data=tmp_path_factory.mktemp("data"), port=0) as server:
        client = Client(server.url)
        learn(client, "flights", 60)
        assert client.label("flights", "flights-2", True)["fate"] == "duplicate"
        for y, id in ((1.5, HOSTILE), (2.5, "poison")):
            client.predict("flights", {"v": 1.0}, id=id)
            with pytest.raises(Exception, match="class label"):
                client.label("flights", id, y)
        with pytest.raises(Exception, match="nobody"):
            client.label("flights", "nobody", True)
        client.version("flights", "before-summer")
        client.route("clicks", champion="one", challengers=["other"])
        learn(client, "clicks", 30)
        client.promote("clicks", "other", why=HOSTILE)
        learn(client, "hostile", 3)
        yield server


class _Constant:
    """A learner written in Python."""

    def learn_one(self, x, y):
        self.last = y

    def predict_one(self, x):
        return True

    def predict_proba_one(self, x):
        return {True: 1.0}

    @classmethod
    def named(cls, name):
        return type(name, (cls,), {})()


def show(browser, url, width=1600, *, dark=False):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(url)


def until(browser, script, *arguments, seconds=20):
    """Wait until a script returns something true, and return it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = browser.execute_script(script, *arguments)
        if found:
            return found
        time.sleep(0.05)
    text = browser.execute_script("return document.body.innerText")
    raise AssertionError(f"never true: {script}\n{text[:2000]}")


def text_of(browser, text):
    """Wait until the page shows a text."""
    return until(browser, "return document.body.innerText.includes(arguments[0])", text)


POINTS = """
const line = document.querySelector('[data-line="last 1,000"]');
return line && (line.getAttribute('d').match(/[ML]/g) || []).length;
"""


@in_browser
def test_the_overview_shows_every_model_and_route(browser, server):
    show(browser, f"{server.url}/")
    text_of(browser, "60 examples learned")
    names = browser.execute_script(
        "return [...document.querySelectorAll('[data-model]')].map(e => e.dataset.model)"
    )
    assert names == ["clicks", "flights", "one", "other", "hostile"]
    text_of(browser, "Labels arrive through clicks")
    text_of(browser, "★ 1 promotion")
    text_of(browser, "Live")
    assert browser.get_log("browser") == []
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
    assert loaded
    assert all(name.startswith(server.url) for name in loaded)


@in_browser
def test_a_page_answers_what_people_ask_first(browser, server):
    show(browser, f"{server.url}/#/models/flights")
    status = Client(server.url).model("flights")
    figure = f"{status['metrics']['recent_Accuracy']:.3f}"
    labels = status["labels"]
    answers = until(
        browser, "return [...document.querySelectorAll('.answers dd')].map(e => e.innerText).join('|') || null"
    )
    assert "60 examples" in answers
    assert f"Accuracy {figure}" in answers
    assert f"{labels['received']} received" in answers
    sum_shown = browser.execute_script("return document.getElementById('fate-sum').innerText")
    assert int(sum_shown) == labels["received"] == sum(labels["fates"].values())
    for fate in ("learned", "duplicate", "unknown", "quarantined"):
        assert labels["fates"][fate] > 0
        text_of(browser, fate)
    text_of(browser, "before-summer")
    assert figure in browser.title
    assert browser.get_log("browser") == []


@in_browser
def test_a_page_follows_the_server_and_reconnects_without_doubled_points(browser, server):
    show(browser, f"{server.url}/#/models/flights")
    client, served = Client(server.url), server.engine.state.models["flights"]
    until(browser, f"{POINTS}")
    start = served.learned
    for turn in range(3):
        learn(client, "flights", 10, start + 10 * turn + 1000)
        text_of(browser, f"{start + 10 * (turn + 1)} examples")
        assert browser.execute_script(POINTS) == len(served.curve.points)
        # The connection breaks while labels go on to arrive.
        for reader in list(server.live._readers):
            reader.sink.end()
        if turn == 1:
            until(browser, "return document.body.innerText.includes('Connection lost')")
    learn(client, "flights", 5, start + 2000)
    text_of(browser, f"{start + 35} examples")
    until(browser, "return document.body.innerText.includes('Live')")
    assert browser.execute_script(POINTS) == len(served.curve.points) == served.scored


@in_browser
def test_hostile_names_labels_and_reasons_stay_text(browser, server):
    for page in ("", "#/models/flights", "#/models/clicks", "#/models/hostile"):
        show(browser, f"{server.url}/{page}")
        text_of(browser, HOSTILE if page else "examples learned")
        time.sleep(1.2)
        assert browser.execute_script(
            "return [window.hacked, document.querySelectorAll('main img, main script').length]"
        ) == [
            None,
            0,
        ]
        assert browser.get_log("browser") == []


@in_browser
def test_a_route_shows_its_members_and_why_somebody_was_promoted(browser, server):
    show(browser, f"{server.url}/#/models/clicks")
    text_of(browser, "★ champion")
    rows = browser.execute_script(
        "return [...document.querySelectorAll('.members tbody tr')]"
        ".map(e => e.innerText.split(/\\s+/).slice(0, 3))"
    )
    assert rows[0][0] == "other"
    assert rows[1][:2] == ["one", "challenger"]
    text_of(browser, "other replaced one at record")
    lines = "return [...document.querySelectorAll('.plot [data-line]')].map(e => e.dataset.line)"
    assert {"other, last 1,000", "one, last 1,000"} <= set(browser.execute_script(lines))
    # Without colours: no two lines of a chart have the same dashes.
    dashes = browser.execute_script(
        "return [...document.querySelectorAll('[data-chart=quality] [data-line]')]"
        ".map(e => getComputedStyle(e).strokeDasharray)"
    )
    assert len(dashes) == len(set(dashes)) == 2


@in_browser
@pytest.mark.parametrize("width", [400, 1600])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_legible(browser, server, width, dark):
    for page in ("", "#/models/flights", "#/models/clicks"):
        show(browser, f"{server.url}/{page}", width, dark=dark)
        text_of(browser, "Traffic")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        wide = browser.execute_script(
            "return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll *, svg, .hidden')"
            " && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
        )
        assert wide == []
        worst = browser.execute_script(CONTRAST)
        assert worst[0] >= 4.5, worst


@in_browser
def test_the_keyboard_reaches_models_and_values(browser, server):
    keys = webdriver.Keys
    show(browser, f"{server.url}/")
    until(browser, "return document.querySelector('[data-model=flights]')")
    browser.execute_script("document.querySelector('[data-model=flights]').focus()")
    browser.switch_to.active_element.send_keys(keys.ENTER)
    until(browser, "return document.querySelector('[data-chart=quality]')")
    browser.execute_script("document.querySelector('[data-chart=quality]').focus()")
    browser.switch_to.active_element.send_keys(keys.ARROW_LEFT)
    served = server.engine.state.models["flights"]
    last = until(browser, "return document.querySelector('[data-chart=quality] .reading').innerText")
    assert last.startswith(f"{served.curve.points[-1][0]} labels")
    browser.switch_to.active_element.send_keys(keys.HOME)
    until(
        browser, "return document.querySelector('[data-chart=quality] .reading').innerText.startsWith('1 labels')"
    )
    # The focus stays while the page is drawn again every second.
    time.sleep(1.5)
    assert browser.execute_script("return document.activeElement.dataset.chart") == "quality"
    browser.execute_script("document.querySelector('#metric-0').focus()")
    browser.switch_to.active_element.send_keys(keys.ARROW_RIGHT)
    until(browser, "return document.querySelector('#metric-1').checked")
    until(browser, "return !document.querySelector('[data-line=\"last 1,000\"]')")


@in_browser
def test_what_is_wrong_is_said(browser, server):
    show(browser, f"{server.url}/")
    text_of(browser, "Live")
    committer = server.engine.committer
    committer.disk_error = f"disk full {HOSTILE}"
    try:
        text_of(browser, "labels are refused, predictions continue")
    finally:
        committer.disk_error = None
    with committer.lock:
        text_of(browser, "A learner has not returned for")
    until(browser, "return !document.body.innerText.includes('has not returned')")
    show(browser, f"{server.url}/#/models/nobody")
    text_of(browser, "There is no such model or route")


@in_browser
def test_a_token_is_asked_for_and_kept_in_the_tab(browser, tmp_path):
    server = Server(linear_model.LogisticRegression(), data=tmp_path, port=0)
    token = server.tokens.create(["metrics"], "page")
    with server:
        show(browser, f"{server.url}/")
        text_of(browser, "This server needs a token")
        for given, seen in (("ms_wrong", "the token is unknown or expired"), (token, "Live")):
            field = browser.find_element("id", "token")
            field.clear()
            field.send_keys(given, webdriver.Keys.ENTER)
            text_of(browser, seen)
        browser.refresh()
        text_of(browser, "Live")
        assert browser.execute_script(
            "return [Object.values(sessionStorage), localStorage.length, document.cookie]"
        ) == [
            [token],
            0,
            "",
        ]
        assert token not in browser.current_url
        assert token not in browser.page_source
