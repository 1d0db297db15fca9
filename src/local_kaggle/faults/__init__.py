"""Fault schedules (`schedule`), and how each fault looks on the wire (`fault_responses`)."""
