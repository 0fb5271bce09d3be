"""Fakes that ship, and the simulator that runs the real flow and the real store on them from one seed."""
