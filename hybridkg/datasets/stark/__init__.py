"""STaRK: question answering over three knowledge bases with text (amazon, mag, prime), from the files as published.

Those are pickles and tensors of torch. `pickles` reads them without running anything that is in them, `tensors` without
torch, both in bounded memory; `layout` finds the files and checks that they fit together; `documents` says which
attribute of a node becomes which property; `making` makes the dataset.

Source of the layout and of the texts: snap-stanford/stark, `stark_qa/skb/*.py` and `stark_qa/tools/io.py`.
"""
