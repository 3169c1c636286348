"""Pull hooks: deliveries for receivers that fetch them, built and recorded like pushed ones.

It imports `delivery` and what is below it.
"""
