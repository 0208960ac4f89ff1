"""What lit runs for `mlirad-opt`, `python` and `filecheck`: asks the process that forks them, and ends as they do.

Reads: the socket's path, and the arguments. Writes: nothing. Leaves: the exit code; 1 if the other process crashes.
"""

import json
import os
import socket
import sys

asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asked.connect(sys.argv[1])
command = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
socket.send_fds(asked, [json.dumps(command).encode()], [0, 1, 2])
code = asked.recv(1)
sys.exit(code[0] if code else "the forked process crashed")
