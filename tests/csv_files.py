"""CSV files that a test writes and reads."""

import csv


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
