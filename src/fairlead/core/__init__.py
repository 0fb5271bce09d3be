"""The pure heart: types, session keys, journal events, state = fold(events), decide(state, command)."""
