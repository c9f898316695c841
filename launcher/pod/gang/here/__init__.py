"""The local socket through which training programs ask their launcher."""
