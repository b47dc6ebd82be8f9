"""Questions in plain words as HybridQL: mentions, target, paths, values, their best conjunction, and the query.

`interpret` (interpret.py) fills the slots (slots.py), and `emit` (emit.py) alone makes queries of them, so another
parser of questions, such as a language model, only fills the slots.
"""
