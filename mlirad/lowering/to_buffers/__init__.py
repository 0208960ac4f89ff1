"""VERBS: linalg on tensors -> linalg on memrefs, their memory planned."""
