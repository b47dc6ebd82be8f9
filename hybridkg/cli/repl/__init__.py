"""The interactive session: a line of conversation about one knowledge base.

session.py holds the state and needs no terminal; terminal.py is the only place that knows prompt_toolkit.
"""
