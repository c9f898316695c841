"""Word vectors: each word has a vector, a review is the sum of them, whatever their order."""

from __future__ import annotations

import layers
import reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

batch_size = reviews.BATCH
learning_rate = 2e-3
data, train, test = reviews.data, reviews.train, reviews.test


def network(session: Session, data: reviews.Reviews | None) -> Network:
    """Return the words' vectors, added up and judged."""
    return layers.judged(session, layers.sum_of(session, layers.words(session, data, dim=32)))
