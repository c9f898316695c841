"""PFS: the volume behind /pfs/<datacenter>/home/<user>, reached through a pod that lives for one command."""
