"""The line below the Overview that tells administrators, and nobody else, how the last backup went; also on an open page."""

import pytest
from django.urls import reverse

from dashboard.access import viewer_for
from dashboard.live import refresh as module
from dashboard.live.orders import Order, Shown, View
from dashboard.live.pace import Pace
from dashboard.panels import pages
from tasks_app.models import Backup
from tests import factories as make
from tests.dashboard.conftest import html_of


@pytest.fixture
def overview(team, settings, monkeypatch):
    """The Overview of an administrator, as the hub has it."""
    settings.BACKUP_URL = "file:///var/backups"
    monkeypatch.setattr(module, "close_old_connections", lambda: None)
    return View("overview", "", frozenset({team.pk}), frozenset({team.pk}), superuser=True)


def swept(view, shown):
    order = Order({view: shown}, dict.fromkeys(view.team_ids, 0), look=None, sweep=frozenset({view}), answering=True)
    return module.refresh(order, Pace()).rooms[view]


def test_an_open_page_hears_with_the_next_sweep_that_a_backup_has_failed(overview):
    first = swept(overview, Shown(()))
    assert "No backup has been made yet" in first.html["last-backup"]
    Backup.objects.create(name="b.zip", started_at=make.ago(hours=1), ended_at=make.ago(hours=1), error="No space left.")
    assert "failed: No space left." in swept(overview, first.shown).html["last-backup"]


def test_a_page_of_somebody_else_with_the_same_teams_hears_nothing_of_it(overview, lead, browser_of):
    hers = View("overview", "", overview.team_ids, overview.lead_of)
    assert hers != overview, "they share no frames"
    assert "last-backup" not in swept(hers, Shown(())).html
    assert "last-backup" not in {block.id for block in pages.blocks("overview", "", viewer_for(lead))}
    assert "last-backup" not in html_of(browser_of(lead).get(reverse("overview")))


def test_the_page_and_its_socket_show_an_administrator_the_same_blocks(admin_user):
    assert "last-backup" in {block.id for block in pages.blocks("overview", "", viewer_for(admin_user))}
