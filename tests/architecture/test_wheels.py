"""Everything in the lock file installs on a fresh Linux or Mac: no compiler is needed, for each package has a wheel for it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[2]
LOCKED: list[dict[str, Any]] = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
OLDEST_MACOS = 13
"""What uv counts on, too. A wheel for a newer one is built from its source there."""
MACHINES = {
    ("linux", "x86_64"): r"manylinux\w*_x86_64",
    ("linux", "aarch64"): r"manylinux\w*_aarch64",
    ("darwin", "arm64"): r"macosx_(\d+)_\d+_(?:arm64|universal2)",
    ("darwin", "x86_64"): r"macosx_(\d+)_\d+_(?:x86_64|universal2|intel)",
}


def needed(platform: str, machine: str) -> list[dict[str, Any]]:
    """Every package that `uv run manage.py up` and `uv run pytest` install there."""
    here = {
        "sys_platform": platform,
        "platform_machine": machine,
        "platform_system": platform.capitalize(),
        "python_version": "3.11",
        "python_full_version": "3.11.9",
    }
    (root,) = [package for package in LOCKED if package["name"] == "crewdesk"]
    todo, found = [*root["dependencies"], *root["dev-dependencies"]["dev"]], dict[tuple[str, str], dict[str, Any]]()
    while todo:
        wanted = todo.pop()
        if "marker" in wanted and not Marker(wanted["marker"]).evaluate({**here, "extra": ""}):
            continue
        for package in LOCKED:
            if package["name"] == wanted["name"] and wanted.get("version") in (None, package["version"]):
                key = (package["name"], package["version"])
                extras = [one for extra in wanted.get("extra", ()) for one in package["optional-dependencies"].get(extra, ())]
                todo += extras + ([] if key in found else package.get("dependencies", []))
                found[key] = package
    return list(found.values())


def fits(tag: Tag, platform: str) -> bool:
    if tag.interpreter not in ("py3", "cp311") and tag.abi != "abi3":
        return False
    match = re.fullmatch(platform, tag.platform)
    return tag.platform == "any" or bool(match and (not match.groups() or int(match[1]) <= OLDEST_MACOS))


@pytest.mark.parametrize("machine", MACHINES, ids=" ".join)
def test_every_package_has_a_wheel(machine: tuple[str, str]) -> None:
    packages = needed(*machine)
    missing = [
        f"{package['name']} {package['version']}"
        for package in packages
        if not any(
            fits(tag, MACHINES[machine])
            for one in package.get("wheels", ())
            for tag in parse_wheel_filename(Path(one["url"]).name)[3]
        )
    ]
    assert len(packages) > 80
    assert missing == []
