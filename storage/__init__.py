"""On what data: file systems and volumes."""
