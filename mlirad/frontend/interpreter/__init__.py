"""The walk over the ast: functions of a Context. Start reading at `context.py`, then `dispatch.py`."""
