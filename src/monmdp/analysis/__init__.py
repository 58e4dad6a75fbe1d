"""What results look like."""
