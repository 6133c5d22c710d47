"""Local embedders. Importing this package loads no model and no numpy."""
