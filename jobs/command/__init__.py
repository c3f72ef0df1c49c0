"""What a start command says, read by a shell parser: never run here, and never rewritten by itself."""
