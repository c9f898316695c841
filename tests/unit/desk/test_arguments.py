"""The command line: one dash or two, the flags of all commands anywhere, every command with help and examples."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.desk import arguments, cli
from launcher.desk.config.datacenters import Datacenter, Storage
from launcher.desk.errors import Problem
from launcher.desk.session import Desk, DeskFlags
from launcher.desk.verbs import get, logs, submit
from launcher.job import JobError

VERBS = sorted(path.stem for path in Path(submit.__file__).parent.glob("[a-z]*.py"))
SEEDS = [
    "-jobname", "my-paddlecloud-job", "-cpu", "1", "-gpu", "0", "-memory", "1Gi", "-parallelism", "10",
    "-pscpu", "1", "-pservers", "3", "-psmemory", "1Gi", "-passes", "1",
]  # fmt: skip
# What each command cannot do without.
LEAST = {
    "completion": ["bash"], "cp": ["a", "b"], "delete": ["job"],
    "file": ["a", "b"], "get": ["jobs"], "ls": ["a"], "mkdir": ["a"],
    "scale": ["my-job", "3"],
    "registry": ["-name", "n", "-server", "s", "-username", "u"], "rm": ["a"], "submit": ["-jobname", "a"],
    **{verb: ["my-job"] for verb in ("describe", "goodput", "kill", "logs", "open", "report", "resume", "suspend")},
    **{verb: ["my-job"] for verb in ("stacks", "top", "wait")},
}  # fmt: skip
PLACE = Datacenter(
    name="dc",
    username="me@x.com",
    image="repo/i:1",
    namespace="n",
    volume=Storage(claim="mfs"),
    public=Storage(claim="p"),
)


def given_by(*words: str) -> object:
    parser = arguments.parser_of("submit", submit.arguments, summary="", examples="")
    return submit.job_described(parser.parse_args(words), PLACE, "")[0]


def test_the_page_without_a_command_is_the_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    page = capsys.readouterr().out
    assert page.startswith(
        "Usage: paddlectl <flags> <subcommand> <subcommand args>\n\nSubcommands:\n\tcommands         list"
    )
    assert "\nSubcommands for PFS:\n\tcp               upload or download files\n" in page
    assert page.endswith('Use "paddlectl flags" for a list of top-level flags\n')


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["help", verb]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"usage: paddlectl {verb}")
    assert f"examples:\n  paddlectl {verb}" in page


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("asked", ["-h", "-help", "--help"])
def test_help_is_had_after_a_command_too(verb: str, asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, asked]) == 0
    assert capsys.readouterr().out.startswith(f"usage: paddlectl {verb}")


def test_what_follows_a_flag_that_nobody_knows_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["registry", "-name", "n", "-username", "u", "-server", "s", "--pasword", "5ecret", "-pass=5ecret"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "unrecognized arguments: --pasword -pass;" in said
    assert "5ecret" not in said
    assert cli.main(["wait", "one", "two"]) == 2
    assert "unrecognized arguments: two;" in capsys.readouterr().err


def test_every_command_that_is_named_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert {*VERBS, "help"} == set(arguments.NAMES)
    assert cli.main(["commands"]) == 0
    assert capsys.readouterr().out.split() == sorted(arguments.NAMES)


def test_every_command_is_in_the_guide() -> None:
    page = (Path(__file__).parents[3] / "docs" / "paddlectl.md").read_text()
    assert all(f"`{verb}" in page for verb in VERBS if verb != "report")


def beginnings(parser: arguments.Parser) -> list[str]:
    """Return every beginning of a flag that is none itself."""
    flags = {spelled for action in parser._actions for spelled in action.option_strings}
    return sorted({flag[:length] for flag in flags for length in range(2, len(flag))} - {*flags, "--"})


@pytest.mark.parametrize("verb", VERBS)
def test_a_flag_that_is_half_typed_is_refused(verb: str) -> None:
    module = import_module(f"launcher.desk.verbs.{verb}")
    parser = arguments.parser_of(verb, module.arguments, summary="", examples="")
    parser.parse_args(LEAST.get(verb, []))
    halves = beginnings(parser)
    assert "-namespac" in halves
    for half in halves:
        for word in (half, f"{half}=1"):
            with pytest.raises(arguments.WrongUsage, match=f"unrecognized arguments: {half};"):
                parser.parse_args([word, *LEAST.get(verb, [])])


@pytest.mark.parametrize("half", ["-r", "-rf", "-f", "-R"])
def test_half_of_rm_kills_nothing(half: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["kill", half, "my-job"]) == 2
    assert f"unrecognized arguments: {half};" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-fv"], {"f": True, "v": True}),
        (["-vfq"], {"f": True, "v": True, "q": True}),
        (["-n20"], {"tail": 20}),
        (["-n", "20"], {"tail": 20}),
        (["-n=20"], {"tail": 20}),
        (["-tail=20"], {"tail": 20}),
        (["-n", "train"], {"namespace": "train", "tail": None}),
        (["-n", "train", "-n", "20"], {"namespace": "train", "tail": 20}),
        (["-namespace", "20"], {"namespace": "20", "tail": None}),
    ],
)
def test_flags_of_one_letter_may_stand_together(words: list[str], expected: dict[str, object]) -> None:
    parser = arguments.parser_of("logs", logs.arguments, summary="", examples="")
    assert expected.items() <= vars(parser.parse_args([*words, "my-job"])).items()


def test_a_format_may_stand_behind_its_letter() -> None:
    parser = arguments.parser_of("get", get.arguments, summary="", examples="")
    assert parser.parse_args(["jobs", "-ojson"]).o == "json"


def test_a_dash_or_two_are_the_same() -> None:
    doubled = [f"-{word}" if word.startswith("-") and not word[1:].isdigit() else word for word in SEEDS]
    entry = ["-entry", "python trainer_config.py", "/pfs/dc/home/me@x.com/demo"]
    assert given_by(*SEEDS, *entry) == given_by(*doubled, *entry)
    assert given_by("-name", "a", *entry) == given_by("--jobname=a", *entry)


def test_a_datacenter_gives_its_volumes_to_a_job() -> None:
    job = given_by(*SEEDS, "-entry", "python t.py", "/pfs/dc/home/me@x.com/demo/")
    assert [(each.mount_path, each.claim, each.read_only) for each in job.volumes] == [  # type: ignore[attr-defined]
        ("/pfs/dc/home/me@x.com", "mfs", False),
        ("/pfs/dc/user/me@x.com", "mfs", False),
        ("/pfs/dc/public", "p", True),
        ("/pfs/public", "p", True),
    ]
    assert job.trainer_package_path == "/pfs/dc/home/me@x.com/demo"  # type: ignore[attr-defined]
    assert (job.trainers, job.pservers, job.namespace, job.datacenter) == (10, 3, "n", "dc")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "words",
    [
        ["subnit"],
        ["cp", "a", "b"],
        ["get"],
        ["get", "pods"],
        ["get", "workers"],
        ["get", "workers", "a", "b"],
        ["get", "quota", "x"],
        ["get", "quota", "-w"],
        ["get", "jobs", "x", "-A"],
        ["get", "worker", "x", "-A"],
        ["get", "jobs", "x", "-l", "a=b"],
        ["get", "quota", "-l", "a=b"],
        ["get", "jobs", "-w", "-ojson"],
        ["get", "jobs", "-n"],
        ["get", "jobs", "-n", "-A"],
        ["-n", "get", "jobs"],
        ["-o", "json", "get", "jobs"],
        ["logs", "x", "-n", "99999999999"],
        ["registry", "-name", "No!", "-username", "u", "-server", "s"],
        ["delete", "jobs"],
        ["completion", "tcsh"],
        ["submit"],
        ["submit", "-jobname", "a", "-parallelism", "0"],
        ["submit", "-jobname", "a", "-gpu", "-1"],
        ["logs", "x", "--since", "5y"],
        ["wait", "x", "--for", "ever"],
        ["submit", "-jobname", "a", "-image", "i", "-entry", "x", "-cpu", "0"],
        ["submit", "-jobname", "a", "-image", "i", "-entry", "x", "-memory", "1"],
        ["submit", "-jobname", "my_job", "-image", "i", "-entry", "x"],
        ["local", "-cpu", "0", "-entry", "x", "/"],
        ["ls", "a"],
        ["-nonsense", "get", "jobs"],
        ["-config"],
    ],
)
def test_wrong_usage_is_2_and_says_how(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert all(line.startswith("paddlectl") for line in said.splitlines())
    assert "usage:" not in said


@pytest.mark.parametrize("asked", ["-version", "--version"])
def test_the_version_is_that_of_the_package(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([asked]) == 0
    assert capsys.readouterr().out == f"paddlectl {metadata.version('paddle-launcher')}\n"


def test_a_near_miss_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["subnit"]) == 2
    assert "did you mean `paddlectl submit`?" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "expected"), [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400)])
def test_durations(text: str, expected: int) -> None:
    assert arguments.seconds(text) == expected


@pytest.mark.parametrize("package", ["nowhere", "../nowhere", "~"])
def test_a_package_that_is_not_there_is_told(package: str) -> None:
    with pytest.raises(Problem, match="is not a directory on this machine"):
        given_by("-jobname", "a", "-entry", "x", package)


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("/pfs/other/home/me@x.com/p", "is in other, and the job in dc: copy it there, or use -datacenter other"),
        ("/pfs/dc/home/you/p", "that is another user's directory: yours is /pfs/dc/home/me@x.com"),
        ("/pfs/[datacenter_name]/home/[username]/p", "is in [datacenter_name], and the job in dc"),
        ("/pfs/nonsense", "expected a path below /pfs/dc/home/me@x.com"),
        ("/pfs/dc/home/me@x.com/../you", "expected a path without `..`"),
        ("/pfs", "expected a path below /pfs/dc/home/me@x.com"),
    ],
)
def test_a_package_on_the_volume_is_checked_as_cp_does(package: str, told: str) -> None:
    with pytest.raises(Problem, match=re.escape(told)):
        given_by("-jobname", "a", "-entry", "x", package)


def test_which_package_was_meant_is_told(tmp_path: Path) -> None:
    assert submit.package_told("package", tmp_path, "/pfs/x") == (
        f"the package is {tmp_path} on this machine: it is copied to /pfs/x"
    )
    assert submit.package_told("/p", None, "") == "the package is /p in the image: this machine has no such directory"
    assert submit.package_told("/pfs/public/p", None, "") == submit.package_told("", None, "") == ""


@pytest.mark.parametrize("package", ["/pfs/dc/home/me@x.com/p/", "/pfs/dc/user/me@x.com/p", "/pfs/public/p", "/p"])
def test_a_package_that_pods_can_read_is_taken(package: str) -> None:
    job = given_by("-jobname", "a", "-entry", "x", package)
    assert job.trainer_package_path == package.rstrip("/")  # type: ignore[attr-defined]


def test_a_package_of_this_machine_is_to_be_brought_to_the_volume(tmp_path: Path) -> None:
    parser = arguments.parser_of("submit", submit.arguments, summary="", examples="")
    said = parser.parse_args(["-jobname", "a", "-entry", "x", str(tmp_path)])
    job, local = submit.job_described(said, PLACE, "")
    assert (job.trainer_package_path, local) == ("package", tmp_path)


@given(
    st.lists(
        st.sampled_from(("-jobname", "a", "-cpu", "--gpu", "1", "-entry", "", "-x", "--", "-q", "../", "=", "-v=1"))
        | st.text(max_size=6)
    )
)
def test_no_words_end_in_a_traceback(words: list[str]) -> None:
    """Without a cluster: whatever is said ends with help, a sentence or wrong usage."""
    with suppress(arguments.WrongUsage, JobError):
        given_by(*(word for word in words if word not in ("-h", "--help")))
    before = arguments.split_words(words)
    assert [*before.before, *([before.verb] if before.verb else []), *before.after] == words or "" in words


@pytest.mark.parametrize("verb", VERBS)
def test_help_imports_nothing_of_kubernetes(verb: str) -> None:
    heavy = "{'kubernetes', 'urllib3', 'yaml', 'tenacity', 'asyncio'}"
    begin = "import sys; from launcher.desk.cli import main;"
    program = f"{begin} main(['help', '{verb}']); print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_table_of_jobs_imports_neither_the_package_nor_what_describes_and_ends_jobs() -> None:
    """They are more than half of what a short command would cost."""
    heavy = "{'kubernetes', 'tenacity', 'launcher.job.description', 'launcher.desk.jobs.submit'}"
    program = f"import sys, launcher.desk.verbs.get, launcher.desk.jobs.api_calls; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_desk_asks_for_nothing_before_it_is_needed() -> None:
    assert "api" not in vars(Desk(DeskFlags()))
