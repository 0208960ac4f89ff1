"""Functions that Python itself runs, while what they compute is recorded to be differentiated."""
