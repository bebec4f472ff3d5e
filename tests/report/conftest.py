"""Fitted learners, and a page in a real browser that has no network."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from dpcate import Category, Number, RLearner, Schema

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<script>alert(1)</script>"
BAD_LEVELS = ['"><img src=x onerror=alert(2)>', "</script><script>alert(3)</script>", "{{ 7*7 }}", "plain & simple"]


def rows(n=6000):
    rng = np.random.default_rng(3)
    called, age = rng.integers(0, 2, n), rng.integers(18, 90, n)
    return {
        "vote": (rng.uniform(size=n) < 0.3 + 0.35 * called * (age > 50)).astype(float),
        "called": called,
        "age": age,
        HOSTILE: rng.choice(BAD_LEVELS, n),
        "income": rng.gamma(4.0, 10.0, n),
        "smokes": rng.integers(0, 2, n),
    }


def study():
    return Schema(
        outcome=Number("vote", 0, 1),
        treatment=Category("called", [0, 1]),
        features=[
            Number("age", 18, 105),
            Category(HOSTILE, BAD_LEVELS),
            Number("income", -0.3, 199.7),
            Category("smokes", [0, 1]),
        ],
    )


@pytest.fixture(scope="session")
def fitted():
    """A fit with products between features; its seed counts as secret, so that it is not void."""
    learner = RLearner(study(), epsilon=4.0, random_state=2).fit_table(rows())
    learner.guarantee_ = replace(learner.guarantee_, void=False, notes=())
    return learner


@pytest.fixture(scope="session")
def seeded():
    """A void fit whose model does not know its error."""
    return RLearner(study(), epsilon=4.0, model="ebm", random_state=0).fit_table(rows(800))


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("Debian's chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Return a function that shows a page and records what goes wrong: errors, dialogs, requests."""
    contexts = []

    def show(html, *, width=1100):
        path = tmp_path / f"report{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.troubles = []

        def answer(route):
            if route.request.url == path.as_uri():
                route.continue_()
            else:
                page.troubles.append(f"request: {route.request.url}")
                route.abort()

        page.route("**/*", answer)
        page.on("console", lambda message: page.troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (page.troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=30_000)
        return page

    yield show
    for context in contexts:
        context.close()
