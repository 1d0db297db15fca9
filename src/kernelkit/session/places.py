"""Where the kit leaves its files in a session's output."""

FOLDER = "kernelkit_session"
SHOWN = "shown-*.jsonl"  # in there: what the cells showed, in the order of the files' numbers
MACHINE = "machine.json"  # in there: for how many minutes a process had the accelerator open
