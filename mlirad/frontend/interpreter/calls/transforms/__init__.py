"""Transforms that are made of requests for derivatives."""
