"""Figures: functions that take data and return a figure; they train nothing and show nothing."""
