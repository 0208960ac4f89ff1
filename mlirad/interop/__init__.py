"""mlirad with other packages. Each of them is optional, and imported when it is used."""
