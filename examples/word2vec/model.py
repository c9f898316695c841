"""The network: which word follows four others. Their vectors side by side, one layer, and all words' chances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grams

from launcher.bridge.engine import Session

Tensor = Any  # Paddle has no types
DIM = 32
HIDDEN = 128


@dataclass(frozen=True)
class Network:
    """What training asks of it."""

    chances: Tensor
    cost: Tensor


def build(session: Session) -> Network:
    """Return the network of this session's program; the vectors are a table on the pservers."""
    paddle = session.paddle
    before = paddle.static.data("before", [None, grams.WINDOW - 1], "int64")
    following = paddle.static.data("following", [None, 1], "int64")
    vectors = session.embedding(before, grams.WORDS, DIM, "word_vectors")
    row = paddle.reshape(vectors, [-1, (grams.WINDOW - 1) * DIM])
    hidden = paddle.static.nn.fc(row, HIDDEN, activation="tanh", name="hidden")
    chances = paddle.static.nn.fc(hidden, grams.WORDS, name="chances")
    cost = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(chances, following))
    return Network(chances, cost)
