"""Maintenance of a store: backup, restore, erase, doctor, salvage, export and import."""
