"""Graphs as pictures: a layout in layers, with boxes inside of boxes, written as SVG."""
