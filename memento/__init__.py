"""memento."""
