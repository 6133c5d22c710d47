"""A person's way through the page in Debian's Chromium: wide and narrow, light and dark.

Skipped where Chromium, its driver or selenium is not installed. ``AXE_CORE`` names the file
``axe.min.js`` that npm installed with ``axe-core``, for the checks of accessibility.
``SCREENSHOTS`` names a folder for pictures of each page, which Pillow makes small; with
``SCREENSHOTS_EMBEDDER=default``, hits are found by meaning as well.
"""

import json
import os
import shutil
import socket
import threading
from io import BytesIO
from itertools import product
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from story import BEGAN, EVIL, QUESTION, tell

from memento import MemoryManager, Source
from memento.resident import tokens
from memento.serve import page
from memento.serve.app import Service, Settings, application
from memento.serve.limits import Limits
from memento.serve.page import door
from memento.testing import ManualClock

selenium = pytest.importorskip("selenium", reason="needs selenium: pip install 'selenium>=4.20'")
uvicorn = pytest.importorskip("uvicorn")
from selenium import webdriver  # noqa: E402 - after the check
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Debian's chromium-driver"),
]
SIZES = {1280: 900, 390: 844}
SHAPES = [*product(SIZES, ("light", "dark"))]
PAGES = {
    "home": "/", "search": f"/?q={quote(QUESTION)}", "memory": "/m/{now}", "timeline": "/timeline",
    "compare": "/compare?since=2026-02-20", "changes": "/changes", "inbox": "/inbox",
    "rules": "/rules", "links": "/links?m={now}", "sessions": "/sessions",
    "session": "/session?id=first%20chat", "health": "/health", "playground": "/playground?q=tea",
}  # fmt: skip
GONE = (WebDriverException,)
"""What an element raises that was replaced while it was looked at."""
BOTH = ("search", "inbox", "memory")
"""Pages whose narrow form the documentation shows as well."""


class Site:
    """The page on a port of its own, and one browser."""

    def __init__(self, memory, told, port, driver):
        self.memory, self.told, self.driver = memory, told, driver
        self.address = f"http://127.0.0.1:{port}"

    def shape(self, width, scheme):
        """Set the size and the colours of the browser."""
        size = {"width": width, "height": SIZES[width], "deviceScaleFactor": 1}
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", size | {"mobile": width < 500}
        )
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})

    def enter(self, *, scripts):
        """Come in with a new code, as a person would."""
        self.driver.delete_all_cookies()
        code = door.code_for(self.memory.store.root)
        self.driver.get("about:blank")
        if scripts:
            self.driver.get(f"{self.address}/#t={code}")
        else:
            self.driver.get(self.address)
            self.find("#code").send_keys(code, Keys.ENTER)
        self.see("Recently remembered")
        self.driver.get_log("browser")  # the browser notes the door's 401

    def open(self, path):
        """Open a page of the story."""
        names = {name: one.id for name, one in self.told.items()}
        self.driver.get(self.address + path.format(**names))

    def find(self, css):
        """Wait until an element is shown, and return it."""
        return self.see("", css)

    def see(self, text, css="body"):
        """Wait until a text is shown, and return its element."""

        def shown(_):
            return next(
                (
                    one
                    for one in self.driver.find_elements(By.CSS_SELECTOR, css)
                    if one.is_displayed() and text in one.text
                ),
                None,
            )

        return WebDriverWait(self.driver, 20, 0.05, GONE).until(shown, f"no {text!r} in {css}")

    def steady(self, css):
        """Return the texts of elements once two looks at them agree: a list may just be drawn."""
        looks = [[], []]

        def agreed(driver):
            found = driver.find_elements(By.CSS_SELECTOR, css)
            looks[:] = looks[1], [(one.id, one.text) for one in found]
            return looks[1] and looks[0] == looks[1]

        WebDriverWait(self.driver, 20, 0.1, GONE).until(agreed, f"{css} does not rest")
        return [text for _, text in looks[1]]

    def press(self, text, css="button"):
        """Press what has this text."""
        self.click(lambda: self.see(text, css))

    def click(self, find):
        """Scroll to an element, and click on it; once more if it was replaced meanwhile."""

        def clicked(_):
            found = find()
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
            found.click()
            return True

        WebDriverWait(self.driver, 20, 0.05, GONE).until(clicked)

    def silent(self):
        """Check that the console said nothing, neither of errors nor of the content policy."""
        assert self.driver.get_log("browser") == []


@pytest.fixture(scope="module", params=[True, False], ids=["scripts", "no-scripts"])
def site(request, tmp_path_factory):
    """A browser with JavaScript and one without, each with a story of its own."""
    embedder = os.environ.get("SCREENSHOTS_EMBEDDER")
    clock, root = ManualClock(BEGAN), tmp_path_factory.mktemp("site")
    with (
        socket.socket() as listening,
        MemoryManager(root, clock=clock, embedder=embedder) as memory,
    ):
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        service = Service(memory, Settings(frozenset({f"127.0.0.1:{port}"}), limits=Limits(rate=0)))
        app = application(service, page.routes(service, every=0.05))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        driver = _browser(scripts=request.param)
        try:
            told = tell(memory, clock)
            memory.flush(wait=embedder is not None)
            made = Site(memory, told, port, driver)
            made.scripts = request.param
            yield made
        finally:
            driver.quit()
            server.should_exit = server.force_exit = True
            thread.join()


def _browser(*, scripts):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for one in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                "hide-scrollbars", "force-prefers-reduced-motion"):  # fmt: skip
        options.add_argument(f"--{one}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not scripts:
        settings = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", settings)
    return webdriver.Chrome(options, webdriver.ChromeService(DRIVER))


def test_pictures_of_each_page(site):
    """Each page is drawn for the documentation, at most 100 kB, when a folder is named for it."""
    if "SCREENSHOTS" not in os.environ or not site.scripts:
        pytest.skip("SCREENSHOTS names no folder")
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")
    folder = Path(os.environ["SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {(1280, "light"): ("", PAGES), (1280, "dark"): ("-dark", ["search"])}
    wanted[390, "light"] = ("-narrow", BOTH)
    for (width, scheme), (mark, names) in wanted.items():
        site.shape(width, scheme)
        site.enter(scripts=True)
        for name in names:
            site.open(PAGES[name])
            file = folder / f"{name}{mark}.png"
            drawn = BytesIO(site.driver.get_screenshot_as_png())
            image.open(drawn).convert("RGB").quantize(240, dither=0).save(file, optimize=True)
            assert file.stat().st_size <= 100_000


@pytest.mark.parametrize(("width", "scheme"), SHAPES)
def test_a_persons_way(width, scheme, site):
    """Ask, read why, correct, undo, forget, undo, bring back, approve, reject, compare."""
    memory = site.memory
    before = memory.value("rami/evening-drink").text
    site.shape(width, scheme)
    site.enter(scripts=site.scripts)
    field = site.find("#q")
    field.clear()
    field.send_keys(QUESTION, Keys.ENTER)
    site.see("sure the answer is among them", ".sum")
    site.press("peppermint", "#hits .text a")
    site.see("WHY IT WAS FOUND", "#one")
    site.press("Correct", "#one summary")
    right = f"Rami drinks mint water, {width} {scheme} {site.scripts}."
    text = site.find("#one textarea")
    text.clear()
    text.send_keys(right)
    site.press("Save correction")
    site.see("Corrected", ".toast")
    assert memory.value("rami/evening-drink").text == right
    site.press("Undo", ".toast button")
    site.see("Undone", ".toast")
    assert memory.value("rami/evening-drink").text == before
    now = memory.value("rami/evening-drink")
    site.driver.get(f"{site.address}/m/{now.id}")
    site.press("Forget", "#one button")
    site.see("Forgotten", ".toast")
    assert memory.get(now.id).status == "forgotten"
    site.press("Undo", ".toast button")
    site.see("Undone", ".toast")
    assert memory.get(now.id).status == "active"
    site.press("restore", "#one .undo")
    site.see("Corrected", ".toast")
    assert memory.value("rami/evening-drink").text != before
    site.press("Undo", ".toast button")
    site.see("Undone", ".toast")
    assert memory.value("rami/evening-drink").text == before
    _decide(site, f"{width} {scheme} {site.scripts}")
    site.press("Timeline", ".nav a, .tabs a")
    site.press("Compare", ".segments a")
    site.see("Added", ".day h2")
    site.silent()


def _decide(site, mark):
    """Approve one memory in quarantine, and reject another."""
    memory = site.memory
    one, other = (memory.add(f"Told by a tool {mark} {at}", source="tool") for at in (1, 2))
    site.press("Inbox", ".nav a, .tabs a")
    for which, button, done in ((1, "Approve", "Approved"), (2, "Reject", "Rejected")):
        site.see(f"{mark} {which}", ".wait li")
        row = f"//li[contains(., '{mark} {which}')]//button[contains(., '{button}')]"
        site.click(lambda row=row: site.driver.find_element(By.XPATH, row))
        site.see(done, ".toast")
    assert memory.get(one.id).status == "active"
    assert memory.get(other.id).status == "forgotten"


@pytest.mark.parametrize(("width", "scheme"), SHAPES)
def test_every_page_is_accessible(width, scheme, site):
    """axe-core finds nothing against WCAG 2.2 AA on any page, and the console is silent."""
    if not site.scripts:
        pytest.skip("axe itself needs scripts")
    if "AXE_CORE" not in os.environ:
        pytest.skip("needs AXE_CORE, the axe.min.js of npm's axe-core")
    axe = Path(os.environ["AXE_CORE"]).read_text()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    site.shape(width, scheme)
    site.enter(scripts=True)
    found = []
    for name, path in PAGES.items():
        site.open(path)
        site.driver.execute_script(axe)
        result = site.driver.execute_async_script(
            "const done = arguments[0];"
            f"axe.run(document, {{runOnly: {json.dumps(tags)}}}).then(done)"
        )
        found += [
            (name, one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in result["violations"]
        ]
        assert site.driver.execute_script(
            "return document.documentElement.scrollWidth <= innerWidth"
        ), f"{name} is wider than the screen"
    assert found == []
    site.silent()


def test_what_an_agent_stores_and_asks_appears(site):
    """While a person looks, what is stored and asked elsewhere appears without a reload."""
    if not site.scripts:
        pytest.skip("without scripts, a page shows what is new when it is loaded")
    site.shape(1280, "light")
    site.enter(scripts=True)
    site.see("live", ".livedot")
    site.memory.add("An agent stored this just now")
    site.see("An agent stored this just now", "#live li.new")
    site.memory.forget(site.memory.list(newest_first=True, limit=1)[0].id)
    WebDriverWait(site.driver, 20, 0.05).until(lambda d: "this just now" not in d.page_source)
    token = tokens.add(site.memory.store.root, "agent", namespace="", rights="write")
    asked = {"query": "Where is the boat?"}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    sent = Request(f"{site.address}/v1/retrieve", json.dumps(asked).encode(), headers)  # noqa: S310 - of this machine
    urlopen(sent).close()  # noqa: S310
    site.see("Where is the boat?", "#live .text a")
    site.silent()


def test_an_error_stays_until_it_is_read(site):
    """What is stored meanwhile does not load the address of the form, which is no page."""
    if not site.scripts:
        pytest.skip("without scripts, nothing loads a page but the person")
    site.shape(1280, "light")
    site.enter(scripts=True)
    site.open(PAGES["memory"])
    where = site.driver.current_url
    site.press("Correct", "#one summary")
    text = site.find("#one textarea")
    text.clear()
    text.send_keys(" ")
    site.press("Save correction")
    site.see("Nothing was changed", "h1")
    assert site.driver.current_url == where
    before = site.find(".well").text
    site.memory.add("Stored while the error is read")
    WebDriverWait(site.driver, 20, 0.05, GONE).until(lambda _: site.find(".well").text != before)
    site.see("Nothing was changed", "h1")
    assert all("422" in one["message"] for one in site.driver.get_log("browser"))


def test_all_by_keyboard(site):
    """The question is one key away, the arrows walk the hits, and Enter opens one."""
    if not site.scripts:
        pytest.skip("keys are the module's; links and buttons work by Tab without it")
    site.shape(1280, "light")
    site.enter(scripts=True)
    site.open(PAGES["search"])
    body = site.driver.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    assert site.driver.switch_to.active_element.get_attribute("id") == "q"
    body = site.driver.switch_to.active_element
    body.send_keys(Keys.ENTER)
    site.see("sure the answer is among them", ".sum")
    names = site.steady("#hits .text a")
    site.find("#hits .text a").send_keys(Keys.ARROW_DOWN)
    site.see(names[1], "#one .text")
    assert site.driver.switch_to.active_element.text == names[1]


def test_evil_texts_run_nothing(site):
    """Sixty of them are text wherever they are shown, and the policy has nothing to stop."""
    site.shape(1280, "light")
    site.enter(scripts=site.scripts)
    for at, evil in enumerate(EVIL):
        made = {"session": "evil", "actor": evil[:99], "key": f"user/evil {at}"}
        one = site.memory.add(f"Rami said {evil}", **made)
        site.memory.add(f"A page said {evil}", source=Source("web", f"https://evil.example/{evil}"))
        for path in (f"/m/{one.id}", f"/?q={quote(evil)}"):
            _shows_text(site, path)
    for path in ("/", "/inbox", "/inbox?skip=30", "/inbox?skip=60", "/timeline", "/changes",
                 "/timeline?skip=30", "/session?id=evil", "/session?id=evil&skip=30", "/rules",
                 "/links?q=evil", f"/links?m={one.id}", "/playground?q=evil"):  # fmt: skip
        _shows_text(site, path)
    site.silent()


def _shows_text(site, path):
    """Check that a page is there, and has no element that only a text could have brought."""
    site.driver.get(site.address + path)
    assert site.driver.find_element(By.TAG_NAME, "main").is_displayed()
    brought = "main :is(script, img, iframe, base, meta, style, form[action*=evil], a[href*=':'])"
    assert not site.driver.find_elements(By.CSS_SELECTOR, brought)
