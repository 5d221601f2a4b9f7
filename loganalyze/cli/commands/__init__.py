"""One module a command: ``run(values) -> exit status``. Commands only check arguments, call one function, print."""
