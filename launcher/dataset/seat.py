"""Which trainer this is, and of how many: as it is said, else as the launcher's environment says it."""

from __future__ import annotations

import os

from launcher.dataset.problem import Misuse

COUNT = ("PADDLE_INIT_NUM_GRADIENT_SERVERS", "TRAINERS")
NUMBER = ("PADDLE_INIT_TRAINER_ID", "TRAINER_ID")


def seat(count: int | None, number: int | None, other: int | None = None) -> tuple[int, int]:
    """Return how many trainers there are and this one's number; `other` is the number under its other name."""
    if number is not None and other is not None and number != other:
        raise Misuse(f"trainer_id={number} and train_id={other}: two names of one thing; expected one of them")
    count = _number("trainer_count", count, COUNT, 1)
    number = _number("trainer_id", other if number is None else number, NUMBER, 0)
    if count < 1:
        raise Misuse(f"trainer_count={count}: expected 1 or more")
    if not 0 <= number < count:
        raise Misuse(f"trainer_id={number} of trainer_count={count}: expected 0 to {count - 1}")
    return count, number


def _number(name: str, given: int | None, variables: tuple[str, ...], default: int) -> int:
    if given is not None:
        return _integer(name, given)
    for variable in variables:
        if os.environ.get(variable):
            return _integer(variable, os.environ[variable])
    return default


def _integer(name: str, given: object) -> int:
    try:
        number = int(given)  # type: ignore[call-overload]  # whatever int() takes
    except (TypeError, ValueError):
        number = None
    if number is None or (number != given and not isinstance(given, str)):
        raise Misuse(f"{name}={given!r}: expected a whole number")
    return int(number)
