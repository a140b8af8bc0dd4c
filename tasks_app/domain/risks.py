"""What could go wrong if a tool call is allowed, in sentences for the permission card."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tasks_app.domain import commands, paths, rules, shell
from tasks_app.domain.commands import Call
from tasks_app.domain.rule_syntax import READERS, WRITERS

UNREADABLE: Final = "Could not be read with certainty."
DELETES: Final = "Deletes files."
OUTSIDE: Final = "Outside the workspace."
NETWORK: Final = "Uses the network."
HISTORY: Final = "Rewrites history."
ROOT: Final = "Needs root."
SECRETS: Final = "Touches secrets."
HIDDEN_CODE: Final = "Runs text as a program."
HOOKS: Final = "Changes what other programs run."
SENTENCES: Final = (UNREADABLE, DELETES, OUTSIDE, NETWORK, HISTORY, ROOT, SECRETS, HIDDEN_CODE, HOOKS)


class Level(StrEnum):
    """How much care a permission needs."""

    LOW = "low"  # one press allows
    HIGH = "high"  # a second button appears elsewhere


@dataclass(frozen=True)
class Risk:
    """`sentences` say what could go wrong, worst kinds first; any of them makes the level high."""

    level: Level
    sentences: tuple[str, ...] = ()


def risk(tool: str, input: Mapping[str, Any], workspace: str) -> Risk:
    """Return how risky the call is. Errs towards high: a false alarm costs one click."""
    found = set(_of_command(input, workspace) if tool == "Bash" else _of_tool(tool, input, workspace))
    sentences = tuple(sentence for sentence in SENTENCES if sentence in found)
    return Risk(Level.HIGH if sentences else Level.LOW, sentences)


def _of_tool(tool: str, input: Mapping[str, Any], workspace: str) -> Iterator[str]:
    if tool in ("WebFetch", "WebSearch"):
        yield NETWORK
    if tool not in READERS | WRITERS:
        return
    path = rules.file_of(tool, input)
    if paths.outside(path, workspace):
        yield OUTSIDE
    if paths.is_secret(path):
        yield SECRETS
    if tool in WRITERS and paths.is_protected(path):
        yield HOOKS


def _of_command(input: Mapping[str, Any], workspace: str) -> Iterator[str]:
    command = input.get("command")
    parsed = shell.read(command) if isinstance(command, str) else shell.Command((), exact=False)
    if not parsed.exact:
        yield UNREADABLE
    for part in parsed.parts:
        for call in commands.calls(part):
            yield from _of_call(call)
        yield from _of_paths(commands.read_from(part), workspace)
        yield from _of_paths(commands.written(part), workspace)
        if any(paths.is_protected(path) for path in commands.written(part)):
            yield HOOKS
    yield from _of_pipes(parsed.parts)


def _of_paths(named: Iterable[str], workspace: str) -> Iterator[str]:
    for path in named:
        if path in paths.HARMLESS_TARGETS or "://" in path:
            continue
        if paths.is_secret(path):
            yield SECRETS
        if (path.startswith(("/", "~", "../")) or "/../" in path or path == "..") and paths.outside(path, workspace):
            yield OUTSIDE


def _of_pipes(parts: Iterable[shell.Part]) -> Iterator[str]:
    """A download and a bare interpreter in one command: what comes in is run."""
    programs = [call for part in parts for call in commands.calls(part)]
    downloads = any(call.program in ("curl", "wget", "nc", "base64", "xxd") for call in programs)
    if downloads and any(_INTERPRETER.fullmatch(call.program) and _reads_stdin(call) for call in programs):
        yield HIDDEN_CODE


def _reads_stdin(call: Call) -> bool:
    return all(arg.startswith("-") for arg in call.args)


_INTERPRETER: Final = re.compile(
    r"(?:ba|z|da|k|a|fi)?sh|python[\d.]*|pypy[\d.]*|node|deno|bun|ruby|perl|php|lua|osascript|pwsh|tclsh|Rscript"
)
_DELETERS: Final = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "mkfs", "dd", "wipefs", "srm", "trash"})
_NETWORKERS: Final = frozenset(
    {
        "curl",
        "wget",
        "ssh",
        "scp",
        "sftp",
        "ftp",
        "rsync",
        "nc",
        "ncat",
        "netcat",
        "telnet",
        "socat",
        "gh",
        "glab",
        "hub",
        "aws",
        "gcloud",
        "az",
    }
    | {
        "kubectl",
        "helm",
        "terraform",
        "ansible",
        "apt",
        "apt-get",
        "yum",
        "dnf",
        "brew",
        "apk",
        "pacman",
        "npx",
        "uvx",
        "pipx",
        "bunx",
        "ping",
    }
    | {
        "dig",
        "nslookup",
        "host",
        "http",
        "https",
        "xh",
        "aria2c",
        "lynx",
        "w3m",
        "psql",
        "mysql",
        "redis-cli",
        "mongosh",
        "vercel",
        "flyctl",
    }
)
_FETCHING: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset({"push", "pull", "fetch", "clone", "ls-remote", "submodule", "remote", "send-email"}),
    "npm": frozenset({"install", "i", "ci", "add", "update", "publish", "audit", "exec", "login", "view", "create", "init"}),
    "pnpm": frozenset({"install", "i", "add", "update", "publish", "dlx", "create"}),
    "yarn": frozenset({"", "install", "add", "up", "upgrade", "publish", "dlx", "create"}),
    "bun": frozenset({"install", "add", "update", "publish", "x", "create"}),
    "pip": frozenset({"install", "download", "index", "wheel"}),
    "uv": frozenset({"add", "sync", "lock", "pip", "tool", "publish", "python", "self"}),
    "poetry": frozenset({"add", "install", "update", "publish", "lock"}),
    "cargo": frozenset({"install", "add", "update", "publish", "fetch", "search"}),
    "go": frozenset({"get", "install", "mod"}),
    "docker": frozenset({"push", "pull", "login", "run", "build", "compose"}),
    "gem": frozenset({"install", "push", "update"}),
    "bundle": frozenset({"", "install", "update"}),
    "composer": frozenset({"install", "require", "update"}),
}


def _of_call(call: Call) -> Iterator[str]:
    if call.dynamic:
        yield UNREADABLE
    if call.program in commands.ROOT:
        yield ROOT
    if _deletes(call):
        yield DELETES
    if _uses_network(call):
        yield NETWORK
    if call.program == "git" and _rewrites_history(call):
        yield HISTORY
    if call.program in ("env", "printenv", "set", "export", "declare") and not call.args:
        yield SECRETS  # prints the whole environment
    if _runs_text(call):
        yield HIDDEN_CODE


def _deletes(call: Call) -> bool:
    args = set(call.args)
    if call.program == "git":
        return bool({"clean", "rm"} & args) or (
            bool({"checkout", "restore"} & args) and bool({".", "--", "-f", "--force"} & args)
        )
    finds = call.program in ("find", "fd", "rsync") and any(arg.startswith(("-del", "--del")) for arg in args)
    return call.program in _DELETERS or call.program.startswith("mkfs.") or finds


def _subcommand(call: Call) -> str:
    """The first word that is no option, such as `push` in `git -C x push` (options with a value may hide it: see `_any`)."""
    return next((arg for arg in call.args if not arg.startswith("-")), "")


def _uses_network(call: Call) -> bool:
    if call.program in _NETWORKERS or any(re.search(r"\b(?:https?|ftp|ssh|wss?)://", arg) for arg in call.args):
        return True
    program = re.sub(r"[\d.]+$", "", call.program)
    if program == "python" and "-m" in call.args:
        return bool({"pip", "http.server", "ensurepip", "venv"} & set(call.args))
    fetching = _FETCHING.get(program, frozenset())
    return _subcommand(call) in fetching or (program == "git" and not fetching.isdisjoint(call.args))


def _rewrites_history(call: Call) -> bool:
    args = set(call.args)
    return any(test(args) for test in _HISTORY_TESTS)


def _has(*words: str) -> Callable[[set[str]], bool]:
    return lambda args: bool(args & set(words))


def _short(args: set[str], letter: str) -> bool:
    """Whether a bundle of one-letter options (`-fu`) has `letter`."""
    return any(re.fullmatch(rf"-[a-zA-Z]*{letter}[a-zA-Z]*", arg) for arg in args)


def _forces(args: set[str]) -> bool:
    named = any(arg.startswith(("--force", "--mirror", "--delete", "--prune", "+", ":")) for arg in args)
    return named or _short(args, "f") or _short(args, "d")


_HISTORY_TESTS: Final[tuple[Callable[[set[str]], bool], ...]] = (
    _has("rebase", "filter-branch", "filter-repo", "update-ref", "replace", "reflog", "gc", "prune"),
    lambda args: "push" in args and _forces(args),
    lambda args: "reset" in args and bool(args & {"--hard", "--merge", "--keep"}),
    lambda args: "commit" in args and any(arg.startswith("--amend") for arg in args),
    lambda args: (
        bool(args & {"branch", "tag", "stash"})
        and bool(args & {"--delete", "--force", "drop", "clear"} or _short(args, "[dDfM]"))
    ),
)


def _runs_text(call: Call) -> bool:
    if call.program in ("eval", "source", "."):
        return True
    if not _INTERPRETER.fullmatch(call.program):
        return False
    return any(re.fullmatch(r"-[a-zA-Z]*[cerp]|--eval|--print|--command|-", arg) for arg in call.args)
