"""The parts of the code behind a kernel's call. Start reading at `..call_machine`."""
