"""The interactive session: its state in session.py, which needs no terminal, and its terminal in terminal.py."""
