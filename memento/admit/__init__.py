"""Turn a draft into an accepted entry: what is refused, what is cut out, what it is worth.

draft              the way in: which field is refused (``InvalidInput``), and the defaults of the
                   others
redact             what is cut out of a text before it is stored: secrets, and blocks that a prompt
                   showed
secrets            the format of each kind of secret: the table ``FORMATS``
secret_validators  whether a match is a secret: by checksum, header, or how random it looks
importance         importance if none is given: ``BASE`` of each kind, weights ``LENGTH``,
                   ``NOVELTY``, ``SPECIFICS``, ``STRESS``; and the tier that follows from it:
                   ``LONG_FROM``, ``SHORT_BELOW``
novelty            which of its words the namespace has not met yet
"""

from memento.admit.redact import Redaction, Secrets

__all__ = ["Redaction", "Secrets"]
