"""What is found out of the programs while they run: who stands still, who makes no step, and where all stand."""
