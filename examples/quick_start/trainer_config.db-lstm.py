"""A deep bidirectional LSTM: two layers of LSTMs that read forwards and backwards."""

from __future__ import annotations

import layers
import reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

batch_size = reviews.BATCH
learning_rate = 2e-3
data, train, test = reviews.data, reviews.train, reviews.test


def network(session: Session, data: reviews.Reviews | None) -> Network:
    """Return the strongest of what the upper layer knows at each word, judged."""
    words = layers.words(session, data, dim=32)
    deep = layers.lstm(session, words, dim=32, layers=2, direction="bidirect")
    return layers.judged(session, layers.strongest(session, words, deep))
