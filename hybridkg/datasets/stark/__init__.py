"""STaRK: question answering over three knowledge bases with text (amazon, mag, prime), from the published files.

The files are pickles and tensors of torch. `pickles` reads them without executing anything, `tensors` without torch,
both in bounded memory; `layout` finds the files and checks their consistency; `documents` maps attributes of nodes to
properties; `making` builds the dataset.

Source of the layout and of the texts: snap-stanford/stark, `stark_qa/skb/*.py` and `stark_qa/tools/io.py`.
"""
