"""What every competition of this kind shares."""
