"""Functions that return solutions of equations: their derivatives come from the equation, not from the solver."""
