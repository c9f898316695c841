"""Logistic regression: each word has a weight for either judgement, and they are added up."""

from __future__ import annotations

import layers
import reviews

from launcher.bridge.config import Network
from launcher.bridge.engine import Session

batch_size = reviews.BATCH
learning_rate = 2e-3
data, train, test = reviews.data, reviews.train, reviews.test


def network(session: Session, data: reviews.Reviews | None) -> Network:
    """Return the words' weights, added up."""
    return layers.by_scores(session, layers.sum_of(session, layers.words(session, data, dim=2)))
