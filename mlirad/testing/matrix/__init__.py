"""Every transform of every transform of small programs, compared with finite differences in 120 digits."""
