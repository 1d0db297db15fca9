"""From a request to a plan without errors, before Kaggle is asked; `kernelkit check` ends there.

    checked_plan      the stages of one push up to there: request, plan, wheels, findings
    online            gives assumed settings the internet if the code needs it, as `init` does
    compiled          asks the TPU's compiler, or says what it said last
    check_push        checks a push, or each kernel below a folder, and compiles on request
    check_repository  checks several kernels, each as if alone, and ends with their table

Begin with `checked_plan.checked_plan`, which a push begins with, and `check_push.check_push`, which
is the command. May import `push.checks`, `push.asked`, `push.known`, `push.planned`,
`push.described`, `tpu`, `runs`, `kaggle`, `notebook` and the ground floor.
"""
