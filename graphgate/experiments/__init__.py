"""The paper's tables as data, one small TOML a method and dataset, and the runner that resumes."""
