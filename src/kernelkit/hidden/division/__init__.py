"""Which rows of the training table become the hidden test set, and by which new ids, in SQL.

    divide   which rows become hidden; it lists the tables that it makes, for queries of them
    new_ids  how a hidden row is called

Begin with `divide.divide`. May import `hidden.competition`, `hidden.tables` and the ground floor.
"""
