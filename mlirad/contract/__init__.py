"""Code that jit, the disk cache, the targets and the frontend share. It imports only the shared files."""
