"""What makes the things that are given away: images (build_docker.sh), the wheel and its bill of materials."""
