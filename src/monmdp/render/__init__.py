"""Pictures of scenes and policies: text for terminals, pixels for everything else."""
