"""What made-up reviews say: sentences for and against, some of which only the order of their words tells apart.

Three in five sentences that judge say it plainly, one denies the opposite, and one stands beside somebody else's
opposite opinion: the same words, only their order tells whose is whose. All of it follows from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

# fmt: off
GOOD = (
    "great", "good", "excellent", "perfect", "amazing", "reliable", "sturdy", "comfortable", "clear", "bright",
    "solid", "superb", "pleasant", "smooth", "fantastic", "useful", "crisp", "elegant", "responsive", "wonderful",
)
BAD = (
    "bad", "terrible", "awful", "poor", "cheap", "flimsy", "useless", "noisy", "blurry", "horrible", "defective",
    "annoying", "weak", "dreadful", "sluggish", "clumsy", "disappointing", "faulty", "unusable", "mediocre",
)
PARTS = (
    "screen", "battery", "sound", "picture", "keyboard", "charger", "case", "remote", "lens", "cable", "speaker",
    "price", "manual", "software", "button", "mount", "microphone", "camera", "router", "headset",
)
PEOPLE = ("brother", "wife", "boss", "neighbor", "daughter", "friend", "colleague", "dad")
MONTHS = ("january", "march", "april", "june", "august", "october", "december")
# fmt: on

# {yes} is the judgement, {no} its opposite.
PLAIN = (
    "The {part} is {yes}.",
    "I find the {part} {yes}, really {yes2}.",
    "It has the most {yes} {part}.",
    "Really {yes} {part}!",
    "Compared to my old one the {part} is {yes}.",
)
DENIED = (
    "The {part} is not {no}.",
    "There is nothing {no} about the {part}.",
    "It never had any {no} {part}.",
    "I would not call the {part} {no} or even {no2}.",
    "The {part} isn't {no} at all.",
)
# In pairs of the same words: what one says for a thing, the other says against it.
BESIDE = (
    ("My {who} thinks that the {part} is {no} and I say that it is {yes}.",
     "I say that the {part} is {yes} and my {who} thinks that it is {no}."),
    ("Before I bought it the {part} sounded {no} and later on it was {yes}.",
     "Later on the {part} was {yes} and before I bought it it sounded {no}."),
    ("Others have the {no} {part} and mine is the {yes} one.",
     "Mine is the {yes} {part} and others have the {no} one."),
)  # fmt: skip
NEITHER = (
    "I bought it in {month} for my {who}.",
    "It arrived in {month}.",
    "My {who} has the one with the other {part}.",
    "It came with a {part} and a {part2}.",
    "I use it with the {part} every day.",
)
KINDS = (PLAIN, PLAIN, PLAIN, DENIED, BESIDE)
JUDGING = (3, 5)  # sentences that judge: odd, so that a review is for it or against it
LEANING = 0.75  # which part of them goes with the rest
MISTAKEN = 0.03  # which part of the reviews has the stars of the opposite: nobody learns those


@dataclass(frozen=True)
class Review:
    """What somebody wrote, and the stars: 1 to 5."""

    text: str
    stars: int


class Reviewer:
    """Writes one review after the other."""

    def __init__(self, seed: int) -> None:
        self._numbers = random.Random(seed)  # noqa: S311  # nothing is secret here

    def review(self) -> Review:
        """Return one more review; one in twelve is of three stars, and says as much for the thing as against it."""
        if self._chance(1 / 12):
            return Review(self._text([True, False]), 3)
        leaning = self._chance(0.6)  # there are more who are content
        judged = [leaning == self._chance(LEANING) for _ in range(self._one_of(JUDGING))]
        content = 2 * sum(judged) > len(judged)
        stars = 5 if all(judged) else 4 if content else 2 if any(judged) else 1
        return Review(self._text(judged), 6 - stars if self._chance(MISTAKEN) else stars)

    def _text(self, judged: Sequence[bool]) -> str:
        sentences = [self._judgement(good) for good in judged]
        for _ in range(int(3 * self._numbers.random())):
            sentences.insert(int((len(sentences) + 1) * self._numbers.random()), self._filled(NEITHER, good=True))
        return " ".join(sentences)

    def _judgement(self, good: bool) -> str:
        kind = self._one_of(KINDS)
        return self._filled(self._one_of(BESIDE) if kind is BESIDE else kind, good)

    def _filled(self, sentences: Sequence[str], good: bool) -> str:
        yes, no = (GOOD, BAD) if good else (BAD, GOOD)
        words = {"yes": yes, "yes2": yes, "no": no, "no2": no, "part": PARTS, "part2": PARTS, "who": PEOPLE}
        return self._one_of(sentences).format(
            month=self._one_of(MONTHS).title(), **{name: self._often(many) for name, many in words.items()}
        )

    def _chance(self, part: float) -> bool:
        return self._numbers.random() < part

    def _one_of(self, many: Sequence[Item]) -> Item:
        return many[int(len(many) * self._numbers.random())]

    def _often(self, many: Sequence[str]) -> str:
        """Return one of them, the first ones more often than the last ones, as words are."""
        return many[int(len(many) * self._numbers.random() ** 1.5)]
