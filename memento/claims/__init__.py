"""Which of two statements that conflict stands higher, and the settings of their comparison.

standing  the order: trust, then belief if it differs by more than ``SURE``, then the later one
settings  with how many earlier statements a new one is compared: ``conflicts.pairs``
"""
