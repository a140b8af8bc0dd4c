"""Which blocks are drawn, compared and sent; no server, no database."""

import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project_settings
from django.template import Context, Template

from dashboard.access import NOBODY, Viewer
from dashboard.live.orders import Shown
from dashboard.live.painter import Painter
from dashboard.panels import registry
from dashboard.panels.base import Block, render


class Tree:
    """A panel over a dict: id -> (text, ids inside). Counts what it was asked."""

    name, template = "tree", "unit.html"
    nodes: dict[str, tuple[str, list[str]]] = {}
    teams: dict[str, int | None] = {}
    drawn: list[str] = []
    together: list[int] = []
    seen: list[Viewer] = []

    @classmethod
    def block(cls, name: str) -> Block:
        return Block(name, "tree", (), frozenset({name}), cls.teams.get(name))

    def context(self, block: Block, viewer: Viewer) -> dict[str, Any] | None:
        self.drawn.append(block.id)
        self.seen.append(viewer)
        return self._context(block.id)

    def contexts(self, blocks: Sequence[Block], viewer: Viewer) -> dict[str, dict[str, Any]]:
        self.together.append(len(blocks))
        self.drawn += [block.id for block in blocks]
        self.seen.append(viewer)
        return {block.id: found for block in blocks if (found := self._context(block.id))}

    def _context(self, name: str) -> dict[str, Any] | None:
        if name not in self.nodes:
            return None
        text, inside = self.nodes[name]
        if text == "broken":
            raise RuntimeError("api_key=abcdef0123456789 leaked")
        return {"text": text, "inside": [self.block(one) for one in inside]}


@pytest.fixture(autouse=True)
def tree(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Tree]]:
    templates = copy.deepcopy(project_settings.TEMPLATES)
    templates[0]["DIRS"] = [Path(__file__).parent / "live_templates"]
    settings.TEMPLATES = templates
    monkeypatch.setitem(registry.PANELS, "tree", f"{__name__}.Tree")
    registry.panel.cache_clear()
    Tree.nodes = {"list": ("L", ["a", "b"]), "a": ("1", []), "b": ("2", ["deep"]), "deep": ("3", []), "side": ("S", [])}
    Tree.teams, Tree.drawn, Tree.together, Tree.seen = {}, [], [], []
    yield Tree
    registry.panel.cache_clear()


ME = Viewer(7, "lead", True, frozenset({1, 2}), frozenset({1}))
EVERYTHING: Callable[[Block], bool] = lambda _: True  # noqa: E731


def roots() -> tuple[Block, ...]:
    return (Tree.block("list"), Tree.block("side"))


def touched(*keys: str) -> Callable[[Block], bool]:
    return lambda block: not block.keys.isdisjoint(keys)


def first() -> Shown:
    """What a page shows after everything was sent once."""
    return Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING).shown


def test_a_block_brings_what_is_in_it_and_that_is_not_sent_again() -> None:
    news = Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING)
    flat = {name: str(html).replace("\n", "") for name, html in news.html.items()}
    assert flat == {
        "list": '<div id="list">L<div id="a">1</div><div id="b">2<div id="deep">3</div></div></div>',
        "side": '<div id="side">S</div>',
    }


def test_only_the_block_that_changed_is_sent_however_deep_it_stands(tree: type[Tree]) -> None:
    shown = first()
    tree.nodes["deep"] = ("33", [])
    news = Painter().paint(shown, roots(), ME, stale=touched("deep"))
    assert set(news.html) == {"deep"}
    assert "33" in str(news.html["deep"])


def test_nothing_is_drawn_that_no_key_names(tree: type[Tree]) -> None:
    shown = first()
    tree.drawn.clear()
    tree.together.clear()
    assert not Painter().paint(shown, roots(), ME, stale=touched("nobody"))
    assert tree.drawn == []
    assert tree.together == []


def test_a_stale_container_that_looks_the_same_is_not_sent_but_its_stale_child_is(tree: type[Tree]) -> None:
    shown = first()
    tree.nodes["a"] = ("changed", [])
    news = Painter().paint(shown, roots(), ME, stale=touched("list", "a"))
    assert set(news.html) == {"a"}


def test_what_was_stale_but_equal_is_sent_with_the_next_sweep_and_then_no_more(tree: type[Tree]) -> None:
    shown = Painter().paint(first(), roots(), ME, stale=touched("a")).shown
    swept = Painter().paint(shown, roots(), ME, stale=EVERYTHING, sweep=True)
    assert set(swept.html) == {"a"}
    assert not Painter().paint(swept.shown, roots(), ME, stale=EVERYTHING, sweep=True)


def test_what_a_fast_frame_has_just_sent_is_not_sent_again_with_the_sweep_but_doubted_like_anything_else_later(
    tree: type[Tree],
) -> None:
    shown = first()
    tree.nodes["a"] = ("changed", [])
    fast = Painter().paint(shown, roots(), ME, stale=touched("a"), fast=True)
    assert set(fast.html) == {"a"}
    full = Painter().paint(fast.shown, roots(), ME, stale=touched("a"))
    assert not full
    assert not Painter().paint(full.shown, roots(), ME, stale=EVERYTHING, sweep=True)
    later = Painter().paint(full.shown, roots(), ME, stale=touched("a"))
    assert set(Painter().paint(later.shown, roots(), ME, stale=EVERYTHING, sweep=True).html) == {"a"}


def test_a_new_child_comes_with_its_container_and_is_live_afterwards(tree: type[Tree]) -> None:
    shown = first()
    tree.nodes |= {"list": ("L", ["a", "b", "c"]), "c": ("new", [])}
    news = Painter().paint(shown, roots(), ME, stale=touched("list"))
    assert set(news.html) == {"list"}
    tree.nodes["c"] = ("newer", [])
    assert set(Painter().paint(news.shown, roots(), ME, stale=touched("c")).html) == {"c"}


def test_what_is_gone_is_forgotten_with_all_that_stood_in_it(tree: type[Tree]) -> None:
    """A page that is open for days sees many blocks come and go."""
    shown = first()
    tree.nodes["list"] = ("L", ["a"])
    shown = Painter().paint(shown, roots(), ME, stale=touched("list")).shown
    assert set(shown.inside) == set(shown.hashes) == {"list", "a", "side"}


def test_a_block_that_is_gone_is_told_once(tree: type[Tree]) -> None:
    shown = first()
    del tree.nodes["side"]
    news = Painter().paint(shown, roots(), ME, stale=touched("side"))
    assert news.html == {"side": None}
    assert not Painter().paint(news.shown, roots(), ME, stale=EVERYTHING)


def test_a_block_that_left_the_page_is_removed(tree: type[Tree]) -> None:
    news = Painter().paint(first(), roots()[:1], ME, stale=touched("nobody"))
    assert news.html == {"side": None}


def test_siblings_are_read_together(tree: type[Tree]) -> None:
    tree.nodes["list"] = ("L", [f"n{n}" for n in range(30)])
    tree.nodes |= {f"n{n}": (str(n), []) for n in range(30)}
    Painter().paint(Shown(()), roots()[:1], ME, stale=EVERYTHING)
    assert tree.together == [30]
    assert len(tree.drawn) == 31


def test_two_views_share_what_their_audience_may_see_alike(tree: type[Tree]) -> None:
    tree.teams = {"list": 1, "a": 1, "b": 1, "deep": 1, "side": None}
    painter = Painter()
    other = Viewer(8, "other", False, frozenset({1}), frozenset({1}))
    painter.paint(Shown(()), roots(), ME, stale=EVERYTHING)
    painter.paint(Shown(()), roots(), other, stale=EVERYTHING)
    assert tree.drawn.count("list") == tree.drawn.count("a") == tree.drawn.count("deep") == 1
    assert tree.drawn.count("side") == 2


def test_a_panel_never_learns_who_looks(tree: type[Tree]) -> None:
    tree.teams = {"list": 1}
    Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING)
    render(Tree.block("list"), ME)
    assert {(seen.user_id, seen.username, seen.superuser) for seen in tree.seen} == {(0, "", False)}
    alone = [seen for seen in tree.seen if seen.team_ids == {1}]
    assert alone


def test_a_block_of_a_team_one_may_not_see_is_nothing(tree: type[Tree]) -> None:
    tree.teams = {"side": 3}
    assert "side" not in {name for name, html in Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING).html.items() if html}
    assert render(Tree.block("side"), ME) is None
    assert "side" not in tree.drawn


def test_a_broken_block_is_left_out_told_once_and_comes_back_when_it_is_mended(
    tree: type[Tree], caplog: pytest.LogCaptureFixture
) -> None:
    shown = first()
    tree.nodes["a"] = ("broken", [])
    tree.nodes["side"] = ("S2", [])
    news = Painter().paint(shown, roots(), ME, stale=touched("a", "side"))
    assert news.resync
    assert set(news.html) == {"side"}
    assert "abcdef0123456789" not in caplog.text
    again = Painter().paint(news.shown, roots(), ME, stale=touched("a"))
    assert not again.resync
    tree.nodes["a"] = ("mended", [])
    assert set(Painter().paint(again.shown, roots(), ME, stale=touched("a")).html) == {"a"}


def test_a_block_that_contains_itself_is_broken_and_not_endless(tree: type[Tree]) -> None:
    tree.nodes["a"] = ("1", ["a"])
    assert Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING).resync


def test_text_cannot_forge_the_place_of_a_block(tree: type[Tree]) -> None:
    tree.nodes["side"] = ("\x00live 000000000000000000000000 a\x00", [])
    assert "1</div>" not in str(Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING).html["side"])


def test_a_page_and_the_socket_draw_the_same(tree: type[Tree]) -> None:
    page = Template("{% load live %}{% live block %}").render(Context({"block": Tree.block("list"), "viewer": ME}))
    assert page == Painter().paint(Shown(()), roots(), ME, stale=EVERYTHING).html["list"]


def test_nobody_sees_no_team_block(tree: type[Tree]) -> None:
    tree.teams = {"side": 1}
    assert render(Tree.block("side"), NOBODY) is None
