"""What a competition with an inference server hands out: its protocol, its gateway, its server.

Written for this example, on the public protocol: the same messages, ports, host name, limits and
errors as in the packages that Kaggle's competitions carry.
"""
