"""The name of this machine stays the same while its processes live."""

import socket

import pytest

from tasks_app.services import hosts


@pytest.fixture
def mac(monkeypatch, tmp_path):
    """A Mac on a network of its own."""
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("socket.gethostname", lambda: "mac.cafe.example")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    hosts._name_of_a_mac.cache_clear()
    yield tmp_path
    hosts._name_of_a_mac.cache_clear()


def test_a_mac_keeps_its_name_when_it_joins_another_network(mac, monkeypatch):
    (mac / "scutil").write_text('#!/bin/sh\n[ "$*" = "--get LocalHostName" ] && echo Adas-MacBook\n')
    (mac / "scutil").chmod(0o755)
    assert hosts.this_host() == "Adas-MacBook"
    monkeypatch.setattr("socket.gethostname", lambda: "mac.home.example")
    assert hosts.this_host() == "Adas-MacBook"


def test_a_mac_that_cannot_say_its_name_has_its_host_name(mac):
    assert hosts.this_host() == "mac.cafe.example"


def test_elsewhere_it_is_the_host_name(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert hosts.this_host() == socket.gethostname()
