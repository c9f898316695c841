"""Who the peers are, and where they are found."""
