"""The tools that an assistant drives the loop with, over the Model Context Protocol.

Begin with `server.serve`. A tool runs one of the kit's commands in a process of its own.
"""
