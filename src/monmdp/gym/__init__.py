"""Mon-MDPs as Gymnasium environments."""
