"""The demo: the installed Python packages as a knowledge base, with queries."""
