"""Hands that know kubectl: what is typed there is understood; a mistake is one sentence with the line to type."""

from __future__ import annotations

from importlib import import_module

import pytest

from launcher.desk import arguments, cli
from launcher.desk.config import datacenters
from launcher.desk.config.datacenters import Datacenter, DeskConfig
from launcher.desk.errors import Mistyped, Problem, Unreachable
from launcher.desk.session import Desk, DeskFlags
from launcher.desk.verbs.describe import names_in
from tests.unit.desk.test_arguments import LEAST, VERBS

PLACES = DeskConfig(
    datacenters=(
        Datacenter(name="dc", endpoint="https://10.0.0.1", namespace="train"),
        Datacenter(name="kind", context="kind-kind"),
        Datacenter(name="mine", context="prod", namespace="me"),
        Datacenter(name="ours", context="prod", namespace="us"),
    ),
    current="dc",
    where="c",
)


def parser(verb: str) -> arguments.Parser:
    module = import_module(f"launcher.desk.verbs.{verb}")
    return arguments.parser_of(verb, module.arguments, summary="", examples="")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        ["-n", "train"], ["-n=train"], ["-namespace=train"], ["--namespace", "train"],
        ["-context", "c"], ["--context=c"], ["-kubeconfig", "f"], ["--kubeconfig=f"],
    ],
)  # fmt: skip
def test_the_cluster_and_the_namespace_are_said_alike_in_every_command(
    verb: str, after: bool, said: list[str]
) -> None:
    words = [*([] if after else said), verb, *LEAST.get(verb, []), *(said if after else [])]
    if verb == "completion" and after:  # all that is behind it is what is completed
        words = [verb, *said, "bash"]
    split = arguments.split_words(words)
    assert split.verb == verb
    given = vars(parser(verb).parse_args(split.after, arguments.top().parse_args(split.before)))
    flag = said[0].strip("-").partition("=")[0].replace("namespace", "n")
    dest, value = {"n": ("namespace", "train"), "context": ("context", "c"), "kubeconfig": ("kubeconfig", "f")}[flag]
    assert given[dest] == value


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["get", "job"], {"what": "jobs", "name": []}),
        (["get", "job", "a"], {"what": "jobs", "name": ["a"]}),
        (["get", "jobs", "a", "job/b"], {"what": "jobs", "name": ["a", "b"]}),
        (["get", "worker", "a"], {"what": "workers", "name": ["a"]}),
        (["get", "registries"], {"what": "registry"}),
        (["get", "quotas"], {"what": "quota"}),
        (["get", "jobs", "-A"], {"A": True}),
        (["get", "jobs", "--all-namespaces", "-w"], {"A": True, "w": True}),
        (["get", "jobs", "-Aw"], {"A": True, "w": True}),
        (["get", "jobs", "-l", "a=b,c"], {"l": "a=b,c"}),
        (["get", "jobs", "--selector=a=b"], {"l": "a=b"}),
        (["delete", "job", "a"], {"what": "job", "name": ["a"]}),
        (["delete", "jobs", "a", "b"], {"what": "job", "name": ["a", "b"]}),
        (["delete", "registries", "a"], {"what": "registry", "name": ["a"]}),
        (["kill", "a", "jobs/b", "-rm"], {"job": ["a", "b"], "rm": True}),
        (["describe", "job", "a"], {"job": ["job", "a"]}),
        (["logs", "job/a", "--tail=5"], {"job": "a", "tail": 5}),
        (["wait", "--for=condition=Complete", "job/a", "--timeout=60s"], {"job": "a", "for": "complete"}),
        (["report", "job/a"], {"job": "a"}),
        (["cp", "-r", "a", "b"], {"src": "a", "dest": "b"}),
        (["cp", "-rfp", "a", "b"], {"src": "a", "dest": "b"}),
        (["rm", "-rf", "a"], {"r": True, "path": ["a"]}),
        (["rm", "-fr", "a"], {"r": True, "path": ["a"]}),
        (["rm", "-f", "a"], {"r": False, "path": ["a"]}),
        (["mkdir", "-p", "a"], {"path": ["a"]}),
        (["ls", "-la", "a"], {"l": True, "path": ["a"]}),
    ],
)
def test_what_is_typed_in_kubectl_and_in_a_shell_is_understood(words: list[str], expected: dict[str, object]) -> None:
    assert expected.items() <= vars(parser(words[0]).parse_args(words[1:])).items()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["a"], ("a",)),
        (["a", "b"], ("a", "b")),
        (["job", "a"], ("a",)),
        (["jobs", "a", "b"], ("a", "b")),
        (["job"], ("job",)),
        (["a", "job"], ("a", "job")),
    ],
)
def test_a_job_that_is_called_job_can_be_described(words: list[str], names: tuple[str, ...]) -> None:
    assert names_in(words) == names


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["submit"], "submit: expected -jobname; `paddlectl help submit` shows how"),
        (["submit", "-jobname"], "submit: -jobname: expected a value after it; `paddlectl help submit` shows how"),
        (
            ["submit", "-jobname", "a", "-gpu", "many"],
            "submit: -gpu: 'many': expected a whole number from 0 to 1000; `paddlectl help submit` shows how",
        ),
        (
            ["get", "pods"],
            "get: what: 'pods': expected one of jobs, workers, registry, quota; `paddlectl help get` shows how",
        ),
        (["get", "jobs", "-n"], "get: -namespace: expected a value after it; `paddlectl help get` shows how"),
        (["get", "workers"], "get: expected one job: `get workers JOB`; `paddlectl help get` shows how"),
        (
            ["get", "job", "a", "-A"],
            "get: -A: expected `get jobs -A`, without a name: it lists the jobs of all namespaces; "
            "`paddlectl help get` shows how",
        ),
        (["kill"], "kill: expected job; `paddlectl help kill` shows how"),
        (["kill", "-r", "a"], "kill: unrecognized arguments: -r; `paddlectl help kill` shows how"),
        (
            ["logs", "a", "-n", "99999999999"],
            "logs: -n: '99999999999': expected a whole number from 0 to 10000000; `paddlectl help logs` shows how",
        ),
        (
            ["cp", "a", "b"],
            "cp: expected one of src and dest to begin with /pfs/, and the other to be on this machine; "
            "`paddlectl help cp` shows how",
        ),
        (
            ["-role", "trainer", "logs", "a"],
            ": unrecognized arguments: -role; `paddlectl flags` lists those that may stand before a command",
        ),
        (["-n", "get", "jobs"], ": -n: expected a value after it, before the command get"),
        (
            ["-context"],
            ": -context: expected a value after it; `paddlectl flags` lists those that may stand before a command",
        ),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_sentence_with_the_line_to_type(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert said.err == f"paddlectl{'' if told.startswith(':') else ' '}{told}\n"
    assert said.out == ""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/paddlectl", "paddlectl"),
        ("/usr/bin/kubectl-paddle", "kubectl paddle"),
        ("kubectl-paddle.exe", "kubectl paddle"),
        ("/home/me/kubectl-paddle/paddlectl", "paddlectl"),
        ("/launcher/desk/__main__.py", "paddlectl"),
        ("", "paddlectl"),
    ],
)
def test_a_plugin_of_kubectls_is_called_so(path: str, name: str) -> None:
    assert arguments.called(path) == name


def test_a_plugins_help_and_mistakes_are_typed_as_it_is_called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-paddle"])
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl paddle <flags> <subcommand>")
    assert cli.main(["help", "kill"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("usage: kubectl paddle kill ")
    assert "  kubectl paddle kill -rm my-job" in page
    assert "paddlectl" not in page
    assert cli.main(["kill"]) == 2
    assert capsys.readouterr().err == "kubectl paddle kill: expected job; `kubectl paddle help kill` shows how\n"
    assert cli.main(["kil"]) == 2
    assert "did you mean `kubectl paddle kill`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "context", "other_file", "usual", "chosen"),
    [
        ("", "kind-kind", False, "", "kind"),
        ("", "kind-kind", True, "", ""),  # it may be another cluster's
        ("", "nowhere", False, "", ""),
        ("", "prod", False, "", ""),  # two, and neither is the current one
        ("", "prod", False, "ours", "ours"),
        ("", "", True, "", ""),
        ("kind", "kind-kind", False, "", "kind"),
        ("kind", "", True, "", "kind"),
    ],
)  # fmt: skip
def test_a_context_is_that_of_a_datacenter_or_stands_alone(
    name: str, context: str, other_file: bool, usual: str, chosen: str
) -> None:
    found = datacenters.by_kubeconfig(PLACES, name, context=context, other_file=other_file, usual=usual)
    assert found.name == chosen
    assert found.context == (context or ("kind-kind" if chosen else ""))


@pytest.mark.parametrize(
    ("name", "context", "told"),
    [
        ("dc", "kind-kind", "datacenter 'dc' is https://10.0.0.1, and -context or -kubeconfig says another cluster"),
        ("dc", "", "datacenter 'dc' is https://10.0.0.1, and"),
        ("kind", "prod", "datacenter 'kind' is context 'kind-kind' of the kubeconfig, and -context"),
    ],
)
def test_a_datacenter_and_another_cluster_contradict_each_other(name: str, context: str, told: str) -> None:
    with pytest.raises(Mistyped, match="use one of them") as caught:
        datacenters.by_kubeconfig(PLACES, name, context=context, other_file=True)
    assert str(caught.value).startswith(told)
    assert caught.value.code == 2


def test_the_kubeconfig_that_is_named_takes_the_environments_place() -> None:
    assert Desk(DeskFlags(kubeconfig="f"), environ={"KUBECONFIG": "g", "A": "b"}).environ == {
        "KUBECONFIG": "f",
        "A": "b",
    }
    assert Desk(DeskFlags(), environ={"KUBECONFIG": "g"}).environ == {"KUBECONFIG": "g"}


def test_of_several_names_each_is_answered_and_the_worst_code_counts(capsys: pytest.CaptureFixture[str]) -> None:
    faults = {"b": Problem("there is no b"), "c": Mistyped("c?"), "d": Problem("no d")}
    done: list[str] = []

    def do(name: str) -> None:
        if name in faults:
            raise faults[name]
        done.append(name)

    desk = Desk(DeskFlags())
    assert desk.each(["a", "b", "a", "e"], do) == 1
    assert desk.each(["c", "d"], do) == 2
    assert desk.each(["a"], do) == 0
    assert done == ["a", "e", "a"]
    assert capsys.readouterr().err == "paddlectl: there is no b\npaddlectl: c?\npaddlectl: no d\n"
    with pytest.raises(Problem, match="there is no b"):
        desk.each(["b", "b"], do)  # one, as without others
    faults["b"] = Unreachable("the server is away")
    with pytest.raises(Unreachable):
        desk.each(["b", "a"], do)
    assert done == ["a", "e", "a"]
