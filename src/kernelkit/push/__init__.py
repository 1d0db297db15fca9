"""A push, from the request to its results.

It is a value that goes down once and comes back once: request → plan → checks → ready → sent →
ended → results, a module for each stage. Begin with `push_kernel`, which reads like that list.
`resume`, `submit`, `hidden_run` and `when_free` enter or repeat the stages. `ledger` keeps every
push and how far it got. `bundle` makes what travels, `checks` looks at it before anything is sent.
May import `rehearsal`, `kaggle`, `notebook`, `runs`, `pages`, `tpu` and the ground floor.
"""
