"""Lists of attempts and events in other orders than by age, their counts, and new attempts."""
