"""An LSTM: it reads the words in their order, and remembers."""

from __future__ import annotations

import layers
import reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

batch_size = reviews.BATCH
learning_rate = 2e-3
data, train, test = reviews.data, reviews.train, reviews.test


def network(session: Session, data: reviews.Reviews | None) -> Network:
    """Return the strongest of what it knows after each word, judged."""
    words = layers.words(session, data, dim=32)
    return layers.judged(session, layers.strongest(session, words, layers.lstm(session, words, dim=32)))
