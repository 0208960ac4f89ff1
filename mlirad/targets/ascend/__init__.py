"""The Ascend 910B: kernels in Huawei's dialect `hivm`, executed by a simulator."""
