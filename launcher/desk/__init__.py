"""What runs at the desk: it starts launchers, and never imports what runs inside of a pod."""
