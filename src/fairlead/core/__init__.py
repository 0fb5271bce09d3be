"""The pure part of Fairlead: types, session keys, journal events, state = fold(events), decide(state, command)."""
