"""VERB. Derivatives of functions. Each op answers for itself: these files know regions, but no nd op's rule."""
