"""What may stand in the place of the last word, by the verbs' own parsers."""

from __future__ import annotations

from argparse import Namespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk import arguments, cli
from launcher.desk.completion import FILE_NAMES, JOB_NAMES, THESE, Completed, completed
from tests.unit.desk.test_arguments import VERBS


def parser(verb: str) -> arguments.Parser:
    return cli.verb_parser(verb)[1]


def answered(*words: str) -> tuple[str, tuple[str, ...]]:
    """Return what is meant, and the words that are offered."""
    found, _ = completed(words, parser)
    return found.kind, found.offered(words[-1] if words else "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ((), arguments.NAMES),
        (("",), arguments.NAMES),
        (("ki",), ("kill",)),
        (("-n", "train", "ki"), ("kill",)),
        (("-n=train", "ki"), ("kill",)),
        (("-n", "=", "train", "ki"), ("kill",)),  # as bash divides it
        (("-q", "re"), ("registry", "report", "resume")),
        (("help", "re"), ("registry", "report", "resume")),
        (("help", "kill", ""), ()),
        (("nonsense", ""), ()),
        (("-kube",), ("-kubeconfig",)),
        (("--kube",), ("--kubeconfig",)),
        (("get", ""), ("jobs", "workers", "registry", "quota")),
        (("get", "j"), ("jobs",)),
        (("get", "jobs", "-o", ""), ("json", "yaml", "wide")),
        (("get", "jobs", "--output", "w"), ("wide",)),
        (("get", "jobs", "-o=j"), ("-o=json",)),
        (("get", "jobs", "-o", "=", "j"), ("json",)),
        (("get", "jobs", "-o", "="), ("json", "yaml", "wide")),
        (("get", "registry", ""), ()),
        (("get", "jobs", "-all"), ("-all-namespaces",)),
        (("get", "jobs", "--all"), ("--all-namespaces",)),
        (("kill", "-r"), ("-rm",)),
        (("wait", "x", "--for", ""), ("complete", "failed", "running")),
        (("wait", "x", ""), ()),
        (("logs", "-role", "t"), ("trainer",)),
        (("registry", "-name", ""), ()),  # it is new
        (("completion", ""), ("bash", "zsh", "fish", "words")),
        (("delete", ""), ("registry", "job")),
        (("delete", "registry", ""), ()),
        (("commands", ""), ()),
    ],
)
def test_words_are_offered(words: tuple[str, ...], offered: tuple[str, ...]) -> None:
    assert answered(*words) == (THESE, offered)


@pytest.mark.parametrize(
    "words",
    [
        ("kill", ""),
        ("kill", "a", ""),
        ("kill", "-rm", ""),
        ("-n", "t", "kill", "m"),
        ("logs", "-f", ""),
        ("logs", "-n", "20", ""),
        ("describe", ""),
        ("describe", "job", ""),
        ("get", "jobs", ""),
        ("get", "job", "a", ""),
        ("get", "workers", ""),
        ("delete", "job", ""),
        ("delete", "jobs", "a", ""),
        ("suspend", ""),
        ("resume", "a", ""),
        ("report", ""),
        ("wait", ""),
        ("doctor", ""),
    ],
)
def test_jobs_are_offered(words: tuple[str, ...]) -> None:
    found, _ = completed(words, parser)
    assert found == Completed(kind=JOB_NAMES)
    assert found.offered("my", ["my-job", "other", "mine"]) == ("my-job",)


@pytest.mark.parametrize(
    "words",
    [
        ("-config", ""),
        ("-kubeconfig", "/et"),
        ("get", "jobs", "-config", ""),
        ("cp", ""),
        ("cp", "-r", "a", ""),
        ("file", ""),
        ("local", "-directory", ""),
        ("submit", "-jobname", "a", "-topology", ""),
        ("submit", ""),
        ("report", "a", "-o", ""),
    ],
)
def test_names_of_files_are_the_shells(words: tuple[str, ...]) -> None:
    assert answered(*words) == (FILE_NAMES, ())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-n", "train", "kill", ""), {"namespace": "train"}),
        (("kill", "-n=train", ""), {"namespace": "train"}),
        (("-n", "a", "kill", "-namespace", "b", ""), {"namespace": "b"}),
        (("logs", "-n", "train", "-n", "20", ""), {"namespace": "train", "tail": 20}),
        (("logs", "-n", "99999999999", ""), {}),
        (
            ("-kubeconfig", "f", "--context", "c", "kill", "-config", "g", "-datacenter", "d", "-q", "x", ""),
            {"kubeconfig": "f", "context": "c", "config": "g", "datacenter": "d"},
        ),
    ],
)
def test_where_jobs_are_looked_for_is_what_the_flags_say(words: tuple[str, ...], said: dict[str, object]) -> None:
    assert completed(words, parser)[1] == Namespace(**said)


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_of_a_command_is_offered_in_the_dashes_that_are_typed(verb: str) -> None:
    flags = {each for action in parser(verb)._actions for each in action.option_strings}
    assert set(answered(verb, "--")[1]) == {each for each in flags if each.startswith("--")}
    assert set(answered(verb, "-")[1]) == {each for each in flags if not each.startswith("--")}


@given(st.lists(st.sampled_from(("get", "jobs", "-o", "-o=", "=", "-", "--", "-n", "a", "logs", "help")) | st.text()))
def test_whatever_is_typed_is_answered(words: list[str]) -> None:
    assert isinstance(answered(*words), tuple)
