"""The operations beyond everyday use: one module for each subject, each works on a view."""
