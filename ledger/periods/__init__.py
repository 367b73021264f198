"""Periods: a closed month keeps the figures that it was closed with."""
