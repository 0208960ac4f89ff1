"""Single calls of public functions: what each of them does when it is compiled, and random calls of all."""
