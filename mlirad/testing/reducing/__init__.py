"""The smallest module on which a pass still fails: `search.py` tries the edits of `edits.py` one after another."""
