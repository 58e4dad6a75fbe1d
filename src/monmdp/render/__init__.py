"""Pictures of a moment: text for terminals, pixels for everything else. No display, no game library."""
