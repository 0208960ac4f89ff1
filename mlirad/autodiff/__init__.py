"""VERB. Derivatives of functions whose ops answer for themselves; knows regions, but no nd op by its rule."""
