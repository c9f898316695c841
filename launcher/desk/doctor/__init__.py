"""What `paddlectl doctor` looks at, and what it makes of it."""
