"""How compiled code is called: from Python (`abi.py`) and without it (`call_machine.py`)."""
