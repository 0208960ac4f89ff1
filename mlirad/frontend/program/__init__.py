"""The user's program as text and objects: sources, scopes, and which callables are pure."""
