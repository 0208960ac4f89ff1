"""What verbs ask of the IR, computed in one place for frontend, autodiff, lowering and targets.

Reads: any IR. Writes: nothing, except the carries of loops (`loops.py`). Leaves: answers.
"""
