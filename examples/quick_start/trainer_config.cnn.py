"""A convolution: a review is what is strongest in any three words that follow each other."""

from __future__ import annotations

import layers
import reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

batch_size = reviews.BATCH
learning_rate = 2e-3
data, train, test = reviews.data, reviews.train, reviews.test


def network(session: Session, data: reviews.Reviews | None) -> Network:
    """Return the strongest of all windows of three words, judged."""
    words = layers.words(session, data, dim=32)
    return layers.judged(session, layers.strongest(session, words, layers.windows(session, words, dim=64, width=3)))
