"""What the code of a cell or a module says: what it imports, calls, reads, writes and sets.

    reading  from source to a `Reading`, and the `Program` that several sources are together
    records  the records of a `Reading`, which list all that is known
    noting   the room of the visitor that goes through a syntax tree and fills them

Begin with `reading.read`, which every command asks about a cell or a module. Code is never run
here. May import `notebook.code.noting`, `notebook.language` and the ground floor.
"""
