"""Where the reverse sweep takes forward values from. The pass is `tape.py`."""
