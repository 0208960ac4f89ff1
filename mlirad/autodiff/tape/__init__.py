"""Makes forward values available to the reverse sweep. The pass is `tape.py`."""
