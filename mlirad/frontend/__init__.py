"""Python source -> IR, by an abstract interpreter over the ast. Reads: a function and a signature. Writes: `tensor`."""
