"""Write path: a draft is validated, weighed and becomes a row the ledger accepts."""
