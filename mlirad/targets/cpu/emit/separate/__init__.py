"""Parts of a function that become functions of their own."""
