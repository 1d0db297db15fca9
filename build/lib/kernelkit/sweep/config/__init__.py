"""What a sweep file asks for: its YAML, its runs, and what makes two runs the same run."""
