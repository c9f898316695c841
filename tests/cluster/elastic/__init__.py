"""What is around an elastic gang: Jobs, queues and their like, measured and run by hand (`make elastic`)."""
