"""The threads that run the blocks of parallel loops (`pool.py`), and their code in LLVM IR (`parallel_for.py`)."""
