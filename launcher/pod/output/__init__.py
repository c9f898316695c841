"""Children's output, from their pipes to log files and standard output."""
