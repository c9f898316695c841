"""The layers that the configs are made of: a review's words as vectors, vectors to one, one to a judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reviews import LENGTH, Reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

Tensor = Any  # Paddle has no types
NOWHERE = 1e9


@dataclass(frozen=True)
class Words:
    """A batch of reviews: a vector for each word, how many words each has, and where they are."""

    vectors: Tensor  # [reviews, LENGTH, dim], zeros after the last word
    count: Tensor  # [reviews]
    there: Tensor  # [reviews, LENGTH, 1], 1 where there is a word, 0 after the last one


def words(session: Session, data: Reviews | None, dim: int) -> Words:
    """Return the input's words, by a table with a row for each word; a pserver sees no data and asks for no row."""
    paddle = session.paddle
    numbers = paddle.static.data("words", [None, LENGTH], "int64")
    there = paddle.unsqueeze(paddle.cast(numbers != 0, "float32"), -1)
    vectors = session.embedding(numbers, data.rows if data else 1, dim, "word_table")
    return Words(vectors * there, paddle.cast(paddle.sum(there, [1, 2]), "int32"), there)


def sum_of(session: Session, found: Words) -> Tensor:
    """Return the sum of a review's vectors: their order is lost."""
    return session.paddle.sum(found.vectors, 1)


def windows(session: Session, found: Words, dim: int, width: int) -> Tensor:
    """Return a vector for each word and its neighbours."""
    vectors = found.vectors
    convolution = session.paddle.nn.Conv1D(vectors.shape[-1], dim, width, padding=width // 2, data_format="NLC")
    return session.paddle.nn.functional.relu(convolution(vectors))


def lstm(session: Session, found: Words, dim: int, layers: int = 1, direction: str = "forward") -> Tensor:
    """Return a vector for each word and all before it; `bidirect`: and one for it and all after it."""
    network = session.paddle.nn.LSTM(found.vectors.shape[-1], dim, num_layers=layers, direction=direction)
    vectors, _ = network(found.vectors, sequence_length=found.count)  # what is after the last word moves nothing
    return vectors


def strongest(session: Session, found: Words, vectors: Tensor) -> Tensor:
    """Return the greatest of each number over a review's words."""
    return session.paddle.max(vectors + (found.there - 1) * NOWHERE, 1)


def judged(session: Session, vector: Tensor) -> Network:
    """Return the network that judges by this vector of a review, and in how many reviews it errs."""
    paddle = session.paddle
    return by_scores(session, paddle.static.nn.fc(vector, 2, name="judgement"))


def by_scores(session: Session, scores: Tensor) -> Network:
    """Return the network that judges by these two scores of a review: for negative and for positive."""
    paddle = session.paddle
    label = paddle.static.data("label", [None, 1], "int64")
    wrong = paddle.unsqueeze(paddle.argmax(scores, -1), -1) != label
    return Network(
        inputs=("words", "label"),
        cost=paddle.mean(paddle.nn.functional.cross_entropy(scores, label)),
        evaluators={"classification_error_evaluator": paddle.mean(paddle.cast(wrong, "float32"))},
    )
