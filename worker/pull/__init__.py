"""Pull hooks: deliveries for receivers that fetch them, built and recorded like pushed ones.

Imports `delivery` and the packages below it.
"""
