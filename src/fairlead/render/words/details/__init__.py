"""Sentences that an error carries beside its code, one file per language; the key is the English sentence."""
