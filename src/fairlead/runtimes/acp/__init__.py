"""Any agent that speaks the Agent Client Protocol: its wire, its process, its differences."""
