"""A draft becomes an accepted entry: checked, redacted, weighed."""

from memento.admit.redact import Redaction, Secrets

__all__ = ["Redaction", "Secrets"]
