"""Every transform of every transform of small programs, judged by differences in 120 digits."""
