"""Turn a draft into an accepted entry: validate it, redact secrets, score its importance."""

from memento.admit.redact import Redaction, Secrets

__all__ = ["Redaction", "Secrets"]
