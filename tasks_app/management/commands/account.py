"""`manage.py account`: who may sign in, and who sees and leads which team."""

from argparse import ArgumentParser
from typing import Any

from tasks_app.domain.statuses import AccessLevel
from tasks_app.management import passwords
from tasks_app.management.cli import DeskCommand, find_account, find_team
from tasks_app.management.words import COMMAND
from tasks_app.selectors import accounts as reading
from tasks_app.selectors.accounts import Account
from tasks_app.services import accounts
from tasks_app.services.accounts import LEVEL_WORD

VERBS = ("list", "add", "password", "let-in", "shut-out", "disable", "enable")


class Command(DeskCommand):
    help = "Show who may sign in, make accounts, let people into teams and shut them out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = self.add_verbs(parser, "|".join(VERBS))
        self.add_json(verbs.add_parser("list", help="every account with its teams"))
        add = verbs.add_parser("add", help="make an account; asks for its password")
        add.add_argument("name", help="what they sign in with")
        add.add_argument("--admin", action="store_true", help="an administrator, who leads every team")
        passwords.add_arguments(add)
        self.add_json(add)
        for verb, text in {
            "password": "set another password, and sign them out everywhere",
            "let-in": "let somebody see a team (viewer) or act on it (lead); also changes that",
            "shut-out": "take somebody's access to a team away",
            "disable": "they can sign in no more, and are signed out everywhere",
            "enable": "they can sign in again; what they see is what it was",
        }.items():
            one = verbs.add_parser(verb, help=text)
            one.add_argument("name", help="name of the account, as in `account list`")
            if verb in ("let-in", "shut-out"):
                one.add_argument("team", help="address or name of the team")
            if verb == "let-in":
                one.add_argument("level", metavar="lead|viewer", help="lead: may act on the team; viewer: may see it")
            if verb == "password":
                passwords.add_arguments(one)
            self.add_json(one)

    def act(self, given: dict[str, Any]) -> int:
        if given["verb"] == "list":
            return self._list(given["json"])
        if given["verb"] == "add":
            return self._add(given)
        account = find_account(given["name"])
        text: str = getattr(self, f"_{given['verb'].replace('-', '_')}")(account, given)
        if given["json"]:
            self.print_json(_json(find_account(account.name)))
        else:
            self.stdout.write(text)
        return 0

    def _list(self, as_json: bool) -> int:
        found = reading.everybody()
        if as_json:
            self.print_json({"accounts": [_json(account) for account in found]})
            return 0
        width = max((len(account.name) for account in found), default=0)
        for account in found:
            self.stdout.write(f"{account.name:<{width}}  {_line(account)}")
        if not found:
            self.stdout.write(f"There is no account yet: {COMMAND} account add NAME --admin")
        return 0

    def _add(self, given: dict[str, Any]) -> int:
        name = accounts.check_name(given["name"])  # before anybody is asked for a password
        name = accounts.add(name, password=passwords.read(given, name=name), admin=given["admin"])
        if given["json"]:
            self.print_json(_json(find_account(name)))
            return 0
        self.stdout.write(f"The account {name} is made. {_rights(given['admin'])}")
        if given["no_password"]:
            self.stdout.write(f"A link that signs them in, once: {COMMAND} sign_in_link {name}")
        if not given["admin"]:
            self.stdout.write(f"Let them into a team: {COMMAND} account let-in {name} TEAM {'|'.join(AccessLevel)}")
        return 0

    def _password(self, account: Account, given: dict[str, Any]) -> str:
        accounts.set_password(account.pk, passwords.read(given, name=account.name))
        if given["no_password"]:
            return f"{account.name} has no password any more, only links: {COMMAND} sign_in_link {account.name}"
        return f"The password of {account.name} is set. It signs in anew."

    def _let_in(self, account: Account, given: dict[str, Any]) -> str:
        team = find_team(given["team"])
        before = accounts.let_in(account.pk, team.pk, level=given["level"])
        was = f", and was a {before} before" if before else ""
        return f"{account.name} {LEVEL_WORD[given['level']]} {team.name} now{was}.{_disabled(account)}"

    def _shut_out(self, account: Account, given: dict[str, Any]) -> str:
        team = find_team(given["team"])
        accounts.shut_out(account.pk, team.pk)
        return f"{account.name} is shut out of {team.name}."

    def _disable(self, account: Account, given: dict[str, Any]) -> str:
        accounts.disable(account.pk)
        return f"{account.name} is disabled, and signed out everywhere."

    def _enable(self, account: Account, given: dict[str, Any]) -> str:
        accounts.enable(account.pk)
        return f"{account.name} can sign in again."


def _rights(admin: bool) -> str:
    return "As an administrator it leads every team." if admin else "It sees no team yet, and may start its own."


def _disabled(account: Account) -> str:
    return "" if account.active else f" The account is disabled: {COMMAND} account enable {account.name}"


def _line(account: Account) -> str:
    """`signed in 2026-12-01 15:33 UTC  disabled, without a password, leads atlas, views billing`."""
    seen = f"signed in {account.last_sign_in:%Y-%m-%d %H:%M} UTC" if account.last_sign_in else "never signed in"
    facts = [*([] if account.active else ["disabled"]), *([] if account.password else ["without a password"])]
    if account.admin:
        return f"{seen:<30}  {', '.join([*facts, 'administrator: leads every team'])}"
    levels = [f"{LEVEL_WORD.get(one.level, 'views')} {one.team}" for one in account.teams]
    return f"{seen:<30}  {', '.join([*facts, *(levels or ['in no team'])])}"


def _json(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "admin": account.admin,
        "active": account.active,
        "password": account.password,
        "last_sign_in": account.last_sign_in.isoformat() if account.last_sign_in else None,
        "teams": [{"team": one.team, "level": one.level} for one in account.teams],
    }
