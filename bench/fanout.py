"""Fan-out: agents' steps to hundreds of open pages (sockets that do what live.js does): lateness, the web process, no loss."""

import argparse
import html
import json
import subprocess
import sys
import time
from typing import Any

import psutil
from django.conf import settings

from bench import browser, crew, emitting, flower_peer, marks, parts
from bench.parts import Parts
from bench.place import ROOT, Place
from bench.report import Goal, Report

PACE = 0.95


def run(place: Place, options: argparse.Namespace) -> Report:
    """One page of one team, open many times, while all its agents work."""
    report = Report("fanout")
    agents, rate, clients, seconds = (10, 40.0, 30, 5.0) if options.quick else (50, 200.0, 500, 30.0)
    with parts.running(place) as house:
        web = house.web()
        with emitting.running(place, agents=agents, rate=rate) as emitter:
            path = f"/teams/{emitter.team}/"
            with open_pages(place, house, path, clients=clients, seconds=seconds, period_s=emitter.period_s) as pages:
                before, begun = psutil.Process(web.pid).cpu_times(), time.monotonic()
                emitter.begin(seconds)
                last = emitter.ended()
                took, after = time.monotonic() - begun, psutil.Process(web.pid).cpu_times()
                said = seen_by(pages)
            cores = (after.user + after.system - before.user - before.system) / took
            report.add(f"step → the frame on {clients} pages", "ms", said["late_ms"], Goal("p99", 1000))
            report.add("processor of the web process", "cores", [cores], Goal("max", 1.0))
            report.add("memory of the web process", "MiB", [house.memory(web) / 2**20])
            report.add("steps per second, as they were stored", "steps/s", [sum(last.values()) / took], pace(rate))
            report.add("frames per page and second", "frames/s", [said["frames"] / clients / took])
            report.failures += lost(said, last)
        _peer(report, place, tasks=20 if options.quick else 200)
    report.notes.append(f"{agents} agents, {rate:g} steps/s ordered, {clients} sockets on the team's page, {seconds:g} s")
    return report


def pace(rate: float) -> Goal:
    """Return what agents have to reach that are to say so many steps a second: below it less was measured than was asked."""
    return Goal("min", PACE * rate, least=True)


def _peer(report: Report, place: Place, *, tasks: int) -> None:
    """What people watch Celery tasks with: its API is asked every 5 ms; its pages are only as new as their last reload."""
    if not flower_peer.there():
        report.notes.append("Flower: left out, it is not installed (uv sync --group bench)")
        return
    found = flower_peer.watched(place, tasks=tasks)
    report.add("end of a task → its API, one reader", "ms", found.late_ms, peer="Flower")
    report.add("memory of the web process", "MiB", [found.memory_mib], peer="Flower")


def lost(said: dict[str, Any], last: dict[str, int]) -> list[str]:
    """Return what these pages do not show or have missed, in words; `last` is the last number of each agent."""
    unseen = [count for seen in said["last"] if (count := marks.unseen(seen, last))]
    wrong = [f"{sum(unseen)} steps were never shown by {len(unseen)} pages"] if unseen else []
    return wrong + broken(said)


def broken(said: dict[str, Any]) -> list[str]:
    """Return which of these pages were no whole pages: a frame was missing, or one ended before its time."""
    wrong = [f"{said['gaps']} frames did not follow the one before"] if said["gaps"] else []
    return wrong + [f"{count} pages ended before their time: {words}" for words, count in said["died"].items()]


def open_pages(
    place: Place, house: Parts, path: str, *, clients: int, seconds: float, period_s: float
) -> "subprocess.Popen[str]":
    """Return the process of so many sockets of the page at `path`, all connected; they stay for `seconds`."""
    url, since, shown = live_address(house, path)
    orders = {
        "url": f"{url}&since={since}",
        "shown": shown,
        "origin": f"http://127.0.0.1:{house.port}",
        "cookie": f"{settings.SESSION_COOKIE_NAME}={crew.session()}",
        "since": since,
        "clients": clients,
        "period_s": period_s,
        "seconds": seconds,
    }
    command = [sys.executable, "-m", "bench.socket_clients"]
    process = subprocess.Popen(command, cwd=ROOT, env=place.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(orders) + "\n")
    process.stdin.flush()
    if process.stdout.readline().strip() != "ready":
        process.kill()
        raise RuntimeError("the pages did not connect")
    return process


def seen_by(pages: "subprocess.Popen[str]") -> dict[str, Any]:
    """Wait for the end of these pages; returns what they saw (see bench/socket_clients.py)."""
    return dict(json.loads(pages.communicate(timeout=120)[0].splitlines()[-1]))


def live_address(house: Parts, path: str) -> tuple[str, str, dict[str, int]]:
    """Return the address of a page's socket, the position with which the page was loaded, and the last steps on it then."""
    with browser.lead(house.port) as lead:
        page = lead.get(path).text
    live, since = (html.unescape(page.partition(f'data-{name}="')[2].partition('"')[0]) for name in ("live", "seq"))
    return f"ws://127.0.0.1:{house.port}{live}", since, marks.newest(marks.found(page))
