"""The commands behind ./dev. Standard library only."""
