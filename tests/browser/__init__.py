"""The console in a real Chromium, at the sizes of a phone and a desk, in both colour schemes."""
