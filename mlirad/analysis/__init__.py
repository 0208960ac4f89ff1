"""Analyses of the IR, shared by frontend, autodiff, lowering and targets.

Reads: any IR. Writes: nothing, except the carries of loops (`loops.py`). Leaves: answers.
"""
