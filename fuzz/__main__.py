from benchmarks.runner import main

if __name__ == "__main__":  # processes that are started import this module again
    main("fuzz")
