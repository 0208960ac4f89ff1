"""Huawei's dialects `hivm` and `hacc`: the instructions of the Ascend 910B, and what one of them computes."""
