"""Where a program stands, by what faulthandler wrote of its threads: real texts of several Pythons and frameworks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.pod.programs.stacks.frames import ProgramPlace, place_in, thread_stacks

PACKAGES = "/opt/conda/lib/python3.11/site-packages"
STDLIB = "/usr/lib/python3.11"
STACK = "Stack (most recent call first):\n"
OF_3_6 = """\
Thread 0x00007f6c814db6c0 (most recent call first):
  File "t.py", line 5 in w
  File "/usr/local/lib/python3.6/threading.py", line 864 in run
  File "/usr/local/lib/python3.6/threading.py", line 916 in _bootstrap_inner
  File "/usr/local/lib/python3.6/threading.py", line 884 in _bootstrap

Current thread 0x00007f6c82600b80 (most recent call first):
  File "t.py", line 8 in rec
  File "t.py", line 7 in rec
  File "t.py", line 13 in \\xe9
  File "t.py", line 14 in <module>
"""
OF_3_13 = """\
Current thread 0x00007fdff56a56c0 (most recent call first):
  File "/usr/local/lib/python3.13/threading.py", line 359 in wait
  File "/usr/local/lib/python3.13/threading.py", line 1012 in _bootstrap

Thread 0x00007fdff6210b80 (most recent call first):
  File "/job/train.py", line 20 in load
  File "/job/train.py", line 31 in <module>
"""
NAMED = OF_3_13.replace("b80 (", "b80 [MainThread] (")  # as 3.14 has it


def stack(*frames: tuple[str, int, str]) -> str:
    """Return the text of one thread, the innermost frame first."""
    return STACK + "".join(f'  File "{file}", line {line} in {function}\n' for file, line, function in frames)


def found(text: str, *, asleep: bool = True) -> ProgramPlace:
    place = place_in(text, asleep=asleep)
    assert place
    return place


RUN = ("/job/train.py", 60, "<module>")
MAIN = ("/job/train.py", 41, "main")
IMPORTED = (
    (f"{PACKAGES}/numpy/__init__.py", 100, "<module>"),
    ("<frozen importlib._bootstrap>", 241, "_call_with_frames_removed"),
    ("<frozen importlib._bootstrap>", 1176, "_find_and_load"),
    ("/job/train.py", 3, "<module>"),
)
RUNPY = (("<frozen runpy>", 88, "_run_code"), ("<frozen runpy>", 198, "_run_module_as_main"))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (OF_3_6, "rec at t.py:8"),
        (OF_3_13, "load at train.py:20"),
        (NAMED, "load at train.py:20"),
        (stack(("/job/data.py", 17, "read"), MAIN, RUN), "read at data.py:17"),
        (stack(RUN), "train.py:60"),
        (
            stack((f"{STDLIB}/threading.py", 327, "wait"), (f"{STDLIB}/threading.py", 629, "wait"), MAIN),
            "wait at train.py:41",
        ),
        (
            stack(
                (f"{PACKAGES}/torch/distributed/distributed_c10d.py", 2, "all_reduce"),
                (f"{PACKAGES}/torch/distributed/c10d_logger.py", 81, "wrapper"),
                MAIN,
                RUN,
            ),
            "all_reduce at train.py:41",
        ),
        (stack(*IMPORTED), "import at train.py:3"),
        (stack(("<string>", 3, "deep"), ("<string>", 9, "<module>")), "deep at <string>:3"),
        (
            stack(
                (f"{PACKAGES}/a/b.py", 3, "f"), ("<string>", 1, "<module>"), (f"{PACKAGES}/a/c.py", 3, "clone"), RUN
            ),
            "clone at train.py:60",
        ),
        (
            stack((f"{PACKAGES}/mine/data.py", 7, "read"), (f"{PACKAGES}/mine/__main__.py", 9, "<module>"), *RUNPY),
            "read at data.py:7",
        ),
        (
            stack((f"{PACKAGES}/paddle/base.py", 7, "run"), ("/x/launcher/bridge/engine.py", 9, "train"), *RUNPY),
            "run at engine.py:9",
        ),
        (
            stack(
                ("/x/launcher/bridge/engine.py", 9, "feed"),
                ("/job/trainer_config.py", 4, "layers"),
                ("/x/launcher/bridge/config.py", 9, "run"),
                *RUNPY,
            ),
            "feed at trainer_config.py:4",
        ),
        (
            stack((f"{STDLIB}/socket.py", 706, "readinto"), (f"{STDLIB}/http/server.py", 3, "serve"), *RUNPY),
            "readinto at socket.py:706",
        ),
        (stack(("/usr/lib/python3/dist-packages/numpy/core.py", 3, "save"), MAIN), "save at train.py:41"),
        (stack(("/x/python311.zip/queue.py", 3, "get"), MAIN), "get at train.py:41"),
    ],
)
def test_the_place_is_the_programs_own_line_and_what_it_called(text: str, where: str) -> None:
    assert found(text).where == where


WAITING = {
    "here.barrier": (("/x/launcher/here.py", 350, "_answer"), ("/x/launcher/here.py", 117, "barrier")),
    "a copy of here": (("/job/lib/here.py", 350, "_answer"), ("/job/lib/here.py", 117, "get")),
    "torch": ((f"{PACKAGES}/torch/distributed/distributed_c10d.py", 4, "barrier"),),
    "torch, meeting": ((f"{PACKAGES}/torch/distributed/rendezvous.py", 4, "_env_rendezvous_handler"),),
    "jax, meeting": ((f"{PACKAGES}/jax/_src/distributed.py", 4, "initialize"),),
    "jax": ((f"{PACKAGES}/jax/experimental/multihost_utils.py", 4, "sync_global_devices"),),
    "paddle": ((f"{PACKAGES}/paddle/distributed/communication/all_reduce.py", 4, "all_reduce"),),
    "paddle, meeting": ((f"{PACKAGES}/paddle/distributed/parallel.py", 4, "init_parallel_env"),),
    "paddle's pserver": ((f"{PACKAGES}/paddle/distributed/ps/the_one_ps.py", 4, "_run_server"),),
    "xgboost": ((f"{PACKAGES}/xgboost/collective.py", 4, "allreduce"),),
}
ASLEEP = {
    "torch's backward": ((f"{PACKAGES}/torch/autograd/__init__.py", 4, "backward"),),
    "jax's value": ((f"{PACKAGES}/jax/_src/array.py", 4, "__float__"),),
    "paddle's backward": ((f"{PACKAGES}/paddle/base/dygraph/tensor_patch_methods.py", 4, "backward"),),
    "xgboost's update": ((f"{PACKAGES}/xgboost/core.py", 4, "update"),),
    "lightgbm's update": ((f"{PACKAGES}/lightgbm/basic.py", 4, "update"),),
}


@pytest.mark.parametrize("frames", WAITING.values(), ids=WAITING)
def test_a_call_that_waits_for_other_programs_is_known(frames: tuple[tuple[str, int, str], ...]) -> None:
    assert found(stack(*frames, MAIN, RUN), asleep=False).waits


@pytest.mark.parametrize("frames", ASLEEP.values(), ids=ASLEEP)
def test_what_computes_and_waits_in_one_call_waits_where_it_uses_no_cpu(
    frames: tuple[tuple[str, int, str], ...],
) -> None:
    assert found(stack(*frames, MAIN, RUN), asleep=True).waits
    assert not found(stack(*frames, MAIN, RUN), asleep=False).waits


@pytest.mark.parametrize(
    "frames",
    [
        (("/job/data.py", 17, "read"), MAIN),
        (("/job/train.py", 17, "barrier"), MAIN),  # its own
        ((f"{STDLIB}/threading.py", 17, "wait"), MAIN),
        # a callback of the program's, below a library's call that may wait
        (("/job/train.py", 30, "after_iteration"), (f"{PACKAGES}/xgboost/training.py", 4, "train"), MAIN),
    ],
)
def test_the_programs_own_calls_are_no_waits_for_others(frames: tuple[tuple[str, int, str], ...]) -> None:
    assert not found(stack(*frames, RUN)).waits


def test_equal_places_have_equal_digests_whatever_a_library_does_deep_inside() -> None:
    wait = (f"{PACKAGES}/torch/distributed/distributed_c10d.py", 4, "barrier")
    one = found(stack((f"{PACKAGES}/torch/a.py", 1, "poll"), wait, MAIN, RUN))
    assert one.digest == found(stack((f"{PACKAGES}/torch/b.py", 9, "sleep"), wait, MAIN, RUN)).digest
    assert one.digest == found(OF_3_13.partition("Thread")[0] + stack(wait, MAIN, RUN)).digest
    assert one.digest != found(stack(wait, ("/job/train.py", 42, "main"), RUN)).digest
    assert one.digest != found(stack((*wait[:2], "all_reduce"), MAIN, RUN)).digest


def test_a_text_without_frames_tells_no_place() -> None:
    assert place_in("", asleep=True) is None
    assert place_in(f"{STACK}  Garbage-collecting\n  <no Python frame>\n", asleep=True) is None


def test_a_line_that_no_file_has_is_none() -> None:
    assert thread_stacks(f'{STACK}  File "a", line {"9" * 5000} in b\n') == ((),)


def test_the_main_thread_is_the_last() -> None:
    assert [frames[-1].function for frames in thread_stacks(OF_3_6)] == ["_bootstrap", "<module>"]


LINES = st.sampled_from(
    [
        *OF_3_6.splitlines(),
        *OF_3_13.splitlines(),
        "  ...",
        "  <tstate is freed>",
        '  File "',
        "",
        '  File "", line ??? in ???',
    ]
)


@given(st.text() | st.lists(LINES | st.text(max_size=40), max_size=30).map("\n".join), st.booleans())
def test_any_text_is_read(text: str, asleep: bool) -> None:
    place = place_in(text, asleep=asleep)
    assert (place is None) == (not (thread_stacks(text) and thread_stacks(text)[-1]))
    assert place is None or len(place.digest) == 16
