"""With what: the images that Workers run in."""
