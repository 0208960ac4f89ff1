"""What a call computes, step by step, and the adjoint and tangent of each step: the tables of textbooks."""
