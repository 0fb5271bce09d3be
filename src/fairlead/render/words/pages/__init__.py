"""The words of the console's pages about the daemon itself: what it spends, runs, and how it is."""
