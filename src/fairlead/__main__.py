"""`python -m fairlead` is `fairlead`."""

from fairlead.cli.main import main

main()
