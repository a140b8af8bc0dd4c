"""Which addresses a web hook may have, and which machines it must never reach."""

import pytest

from tasks_app.domain.addresses import fault, is_public

PUBLIC = ("8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "2002:808:808::")
INSIDE = (
    "10.0.0.5", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fec0::1",
    "::ffff:10.0.0.5", "::ffff:169.254.169.254", "2002:7f00:1::", "64:ff9b::a00:5", "::7f00:1", "ff02::1", "", "hooks",
)  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", INSIDE)
def test_private_local_metadata_and_reserved_addresses_are_not_however_they_are_wrapped(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "url", ["https://hooks.example.org/T0/B0", "https://user:word@hooks.example.org:8443/x", "https://8.8.8.8/x"]
)
def test_a_public_https_address_is_well(url: str) -> None:
    assert fault(url) == ""


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "is not an address"),
        ("hooks.example.org/x", "is not an address"),
        ("https://", "is not an address"),
        ("https://hooks.example.org:99999/x", "is not an address"),
        ("https://[::1/x", "is not an address"),
        ("https://hooks.example.org/a b", "is not an address"),
        ("https://hooks.example.org/" + "x" * 2000, "is not an address"),
        ("http://hooks.example.org/x", "https://"),
        ("ftp://hooks.example.org/x", "https://"),
        ("https://localhost/x", "private network or this machine"),
        ("https://web.localhost/x", "private network or this machine"),
        ("https://127.0.0.1/x", "private network or this machine"),
        ("https://[fd00::1]/x", "private network or this machine"),
        ("https://169.254.169.254/latest", "private network or this machine"),
        ("http://127.0.0.1:8000/x", "https://"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_address_is_said_without_the_address(url: str, words: str) -> None:
    said = fault(url)
    assert words in said
    assert "/x" not in said
    assert "T0" not in said


def test_plain_http_is_only_for_this_machine_and_only_where_that_is_asked_for() -> None:
    assert fault("http://127.0.0.1:8000/x", loopback=True) == ""
    assert fault("http://[::1]:8000/x", loopback=True) == ""
    assert fault("http://10.0.0.5/x", loopback=True)
    assert fault("http://localhost/x", loopback=True), "a name could lead elsewhere"
