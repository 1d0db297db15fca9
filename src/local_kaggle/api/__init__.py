"""What all services share: the SDK's messages, paged lists, and the caller's account.

Begin with `wire`: a service is a function that `answers` marks. May import `state` and `faults`.
"""
