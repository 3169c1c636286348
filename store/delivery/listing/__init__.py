"""Lists of attempts and events in other orders than by age, and the number of matches."""
