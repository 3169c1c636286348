"""The dashboard: pages for people, rendered here, which load nothing from anywhere else."""
