"""What all services share: the SDK's messages, pages of a list, and who is asking.

Begin with `wire`: a service is a function that `answers` marks. May import `state` and `faults`.
"""
