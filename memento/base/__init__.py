"""What every room may use, and what knows no room: time, files, paths, names, text to show."""
