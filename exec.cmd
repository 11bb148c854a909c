@rem npm's scripts begin with exec, so that a signal to npm reaches the program: a builtin of POSIX shells. For cmd.exe:
@%*
