"""The embedded engine: Workers run on this machine, each under its own detached supervisor.

`engine` is what the console imports. `supervisor` is a program of its own that needs nothing but the
standard library; it uses `plan`, `watch`, `keeper`, `tree`, `output`, `scratch`, `tombstone` and one of the
boxes (`bubblewrap`, `proot`, `bare`). None of those imports `engines.base`: a supervisor has to be quick.
"""
