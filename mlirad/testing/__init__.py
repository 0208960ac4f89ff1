"""The kit for testers: an interpreter of the tensor and autodiff stages."""
