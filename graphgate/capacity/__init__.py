"""What a run will take, told before it starts: memory, time, and whether this machine has it."""
