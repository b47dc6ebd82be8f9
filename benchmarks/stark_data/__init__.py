"""Real public data in the form of STaRK's knowledge bases, because the real ones cannot be had here."""
