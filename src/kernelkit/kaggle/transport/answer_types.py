"""Whether an answer has the types that the SDK declares; the SDK itself does not look."""

from typing import Any


def check(message: Any, sent: Any) -> None:
    """Raise `TypeError` or `ValueError` unless a message has its declared types.

    message  what the SDK made of an answer; a field that is null gets its default, as in all JSON
             of Protocol Buffers
    sent     the JSON that the message was made of, since the message hides its types: the SDK
             makes a message without fields of a text or a list, and a list of a text
    """
    if not isinstance(sent, dict):
        raise TypeError(f"a {type(message).__name__} is a {type(sent).__name__}")
    for field in message._fields:
        value = getattr(message, field.private_field_name)
        part = sent.get(field.json_name)
        if value is None:
            setattr(message, field.private_field_name, field.default_value)
        if value is None or part is None:
            continue
        kind = type(field.default_value)
        if kind in (list, dict) and not isinstance(part, kind):
            raise TypeError(f"{field.json_name} is a {type(part).__name__}")
        if kind is dict:  # a map: the types of its values are not checked
            continue
        pairs = zip(value, part, strict=True) if kind is list else [(value, part)]
        for each, own in pairs:
            _check_value(each, own, field)


def _check_value(value: Any, sent: Any, field: Any) -> None:
    """Check a field's value, or one of its list, and the message that it may be."""
    is_bool_for_int = isinstance(value, bool) and field.field_type is not bool  # a bool is an int
    if is_bool_for_int or not isinstance(value, field.field_type):
        raise TypeError(f"{field.json_name} is a {type(value).__name__}")
    if hasattr(value, "_fields"):
        check(value, sent)
