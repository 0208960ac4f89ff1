"""mlirad with other packages, each of them optional, and imported when it is used."""
