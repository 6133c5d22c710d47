"""Which of two statements that conflict stands higher, and the settings of their comparison."""
