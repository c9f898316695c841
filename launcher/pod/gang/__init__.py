"""One gang of many pods: who runs which generation, when it starts and ends, and the one verdict."""
