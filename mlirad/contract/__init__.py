"""What jit, the disk cache, the targets and the frontend share. It imports no other room but the shared files."""
