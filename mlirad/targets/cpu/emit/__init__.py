"""From stage `loops` to LLVM IR text: one walk, one table of rules per dialect."""
