"""Ways in and out for people. Each is an adapter behind the ports and knows no other."""
