"""VERB on nd ops: loops whose trips compute planes become loops over points."""
