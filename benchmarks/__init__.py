"""Measurements of speed, memory and quality.

    python -m benchmarks NAME --json results/benchmarks/NAME.json

Each benchmark is a module with a generator `measure`, which `runner` runs and stores; `report`
makes the tables and `plots` the figures of the documentation from what is stored.
"""
