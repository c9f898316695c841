"""What a user asks of the pods around the programs, and how it becomes part of their template."""
