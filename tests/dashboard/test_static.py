"""What is shipped to browsers: known files, small enough, and nothing inline in any template."""

import gzip
import hashlib
import re
import time
from pathlib import Path

import pytest

from dashboard.panels import registry
from tests import factories as make

ROOT = Path(__file__).resolve().parents[2]
STATIC, TEMPLATES = ROOT / "static", ROOT / "templates"
FILES = sorted(TEMPLATES.rglob("*.html"))


def gz(*paths: Path) -> int:
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)


def test_every_vendored_file_is_the_one_in_the_manifest():
    lines = [
        line.split() for line in (STATIC / "vendor/MANIFEST.txt").read_text().splitlines() if line and not line.startswith("#")
    ]
    named = {name: digest for name, _, _, digest in lines}
    for name, digest in named.items():
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name
    there = {str(path.relative_to(ROOT)) for folder in ("static/vendor", "tests/vendor") for path in (ROOT / folder).iterdir()}
    assert there - {"static/vendor/MANIFEST.txt"} <= set(named)


def test_a_page_needs_at_most_eight_requests_at_first():
    """The page, what its head names, and the icons; no page adds a file of its own. What is named with `data-` comes later."""
    named = {path: re.findall(r"{% static '([^']+)' %}", path.read_text()) for path in FILES}
    later = {"js/notify.js", "js/palette.js", "js/transcript.js", "sound/knock.wav"}
    head = [name for name in named.pop(TEMPLATES / "base.html") if name not in later]
    assert len(set(head)) + len({"page", "icons.svg"}) <= 8
    assert {str(path.relative_to(TEMPLATES)) for path, names in named.items() if names} <= {"alone.html", "broken.html"}


def test_what_a_page_loads_stays_within_its_budget():
    # once the page stands, or when asked for: `data-…` in base.html
    later = {STATIC / "js" / name for name in ("notify.js", "palette.js", "transcript.js")}
    scripts = {*(STATIC / "js").glob("*.js"), *(STATIC / "vendor").glob("*.js")} - later
    assert gz(*scripts) <= 25_000
    assert all(gz(one) <= 3_000 for one in later)
    assert gz(STATIC / "css/app.css") <= 15_000
    assert gz(STATIC / "icons.svg") <= 5_000


@pytest.fixture
def busy(team):
    """Thirty agents at work, two hundred tasks."""
    for n in range(30):
        agent = make.AgentFactory(team=team, used=True, now_text=f"Editing part {n} of the billing page")
        make.RunFactory(task__team=team, agent=agent, lease_until=time.time() + 86_400)
    make.TaskFactory.create_batch(170, team=team, title="Rounding of totals in invoices")
    return team


@pytest.mark.parametrize(("address", "most"), [("/", 30_000), ("/teams/atlas/", 30_000), ("/teams/atlas/?view=table", 30_000)])
def test_a_page_of_thirty_agents_and_two_hundred_tasks_is_small(desk, busy, address, most):
    html = desk.get(address).content
    assert html.count(b"T-") >= 30
    assert len(gzip.compress(html, 6)) <= most
    assert len(re.findall(rb"<[a-z]", html)) <= 4_000, "elements"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_no_template_holds_a_style_a_script_or_a_handler(path):
    html = path.read_text()
    assert not re.search(r"<style|\sstyle=|\shx-on|hx-vals=['\"]js:|javascript:|\son[a-z]+=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=)", html)
    assert "|safe" not in html
    assert "autoescape off" not in html


def test_no_script_asks_a_form_for_what_one_of_its_fields_is_named():
    """A field takes the place of any property of its form that has its name or id."""
    html = "\n".join(path.read_text() for path in FILES)
    fields = set(re.findall(r'\s(?:name|id)="(\w+)"', html))
    fields |= {name for hidden in re.findall(r"{% hidden ([^%]+)%}", html) for name in re.findall(r"(\w+)=", hidden)}
    assert fields >= {"words", "do", "title"}
    scripts = [re.sub(r"//.*", "", path.read_text()) for path in (STATIC / "js").glob("*.js")]
    asked = {name for text in scripts for name in re.findall(r"\bform\??\.(\w+)", text)}
    assert "dataset" in asked
    assert not asked & fields


def test_every_icon_that_is_used_is_in_the_sprite():
    sprite = set(re.findall(r'symbol id="([\w-]+)"', (STATIC / "icons.svg").read_text()))
    used = {name for path in FILES for name in re.findall(r'{% icon "([\w-]+)"', path.read_text())}
    used |= {name for path in FILES for name in re.findall(r'icon_name="([\w-]+)"', path.read_text())}
    used |= set(re.findall(r'", "([a-z0-9-]+)", "s-', (ROOT / "dashboard/templatetags/crew_words.py").read_text()))
    assert used
    assert used <= sprite


def test_every_panel_is_registered_under_its_name_and_has_its_template():

    for name in registry.PANELS:
        panel = registry.panel(name)
        assert panel.name == name
        assert (TEMPLATES / panel.template).is_file()


def test_every_field_of_a_live_block_has_an_id_so_that_a_frame_finds_it_and_leaves_it():
    """What is written in a field is kept by its node (desk.js); a morph takes one without an id for any other of its kind."""
    parts = [path for path in FILES if path.parent.name in ("panels", "decisions") or path.name == "budget_form.html"]
    fields = [(path.name, tag) for path in parts for tag in re.findall(r"<(?:input|select|textarea)\b[^>]*", path.read_text())]
    assert len(fields) > 20
    assert not [(name, tag) for name, tag in fields if " id=" not in tag.replace("\n", " ") and '"hidden"' not in tag]
