"""What Google's guest agent does for a host. Only the standard library, and Python 3.10: this runs inside the host."""
