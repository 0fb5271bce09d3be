"""The daemon's side of other machines: runtimes and files that are there, behind the same ports as those here."""
