"""`python -m fairlead` is `fairlead`."""

from fairlead.cli.entry import main

main()
