"""What all pages share: one style sheet, one way to draw, names of runs, the page of many runs.

Begin with `shell.page`. Reports (`runs`) and pages of many runs (`runs`, `sweep.report`) use it;
imports nothing but the ground floor.
"""
