"""Python source -> IR: an abstract interpreter over the ast. Reads: a function and a signature. Writes: stage `tensor`."""
