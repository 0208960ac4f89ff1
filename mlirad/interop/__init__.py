"""mlirad with other packages, each of them optional: one file each, which is imported when it is used."""
