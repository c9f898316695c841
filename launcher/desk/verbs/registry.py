"""`paddlectl registry`: credentials of a private registry, as a pull secret."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser, Namespace

from launcher.desk.arguments import flag
from launcher.desk.errors import Problem
from launcher.desk.jobs import registries
from launcher.desk.session import Desk

EXAMPLES = """\
  paddlectl registry -name mine -username me -server registry.example.com      asks for the password
  paddlectl registry -name mine -username me -server registry.example.com <token.txt
  paddlectl submit -registry mine -image registry.example.com/paddle:2.6.2 ..."""


def arguments(parser: ArgumentParser) -> None:
    """Add the registry and who uses it."""
    flag(parser, "name", required=True, metavar="NAME", help="its name, for submit's -registry")
    flag(parser, "username", required=True, metavar="NAME", help="the user at the registry")
    flag(
        parser, "password", default=None, metavar="SECRET", help="without it: asked for, or read from standard input"
    )
    flag(parser, "server", required=True, metavar="HOST", help="such as registry.example.com:5000")


def run(given: Namespace, desk: Desk) -> int:
    """Make a pull secret, or renew it."""
    made = registries.Registry(name=given.name, server=given.server, username=given.username)
    registries.check_registry(made)
    if given.password is not None:
        desk.terminal.note(
            "a password on the command line can be seen by others on this machine: without it paddlectl asks for it"
        )
    desk.terminal.note(registries.saved(desk.api, made, _password(given)))
    return 0


def _password(given: Namespace) -> str:
    try:
        if given.password is not None:
            secret = given.password
        elif sys.stdin.isatty():
            secret = getpass.getpass(f"password of {given.username} at {given.server}: ")
        else:
            secret = sys.stdin.readline(65536).rstrip("\r\n")
        secret.encode()
    except EOFError:
        secret = ""
    except UnicodeError:
        raise Problem("the password is not UTF-8 text") from None
    if not secret:
        raise Problem("the password is empty: expected one from -password, a prompt, or a line on standard input")
    return str(secret)
