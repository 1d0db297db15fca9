"""The protocol's messages, and how Python values travel in them.

The messages are described here instead of in a .proto file, so that no generated code is needed.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "kaggle_evaluation_client"
METHOD = f"/{PACKAGE}.KaggleEvaluationService/Send"
Field = descriptor_pb2.FieldDescriptorProto
# Of a payload's `value`: the field's number, its type, and the message where it is one.
VALUES = {
    "str_value": (1, Field.TYPE_STRING, ""),
    "bool_value": (2, Field.TYPE_BOOL, ""),
    "int_value": (3, Field.TYPE_SINT64, ""),
    "float_value": (4, Field.TYPE_FLOAT, ""),
    "none_value": (5, Field.TYPE_BOOL, ""),
    "list_value": (6, Field.TYPE_MESSAGE, "PayloadList"),
    "tuple_value": (7, Field.TYPE_MESSAGE, "PayloadList"),
    "dict_value": (8, Field.TYPE_MESSAGE, "PayloadMap"),
    "polars_dataframe_value": (10, Field.TYPE_BYTES, ""),
}


def _described() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="tides/kaggle_evaluation.proto", package=PACKAGE, syntax="proto3"
    )

    def field(message: Any, name: str, number: int, kind: int, of: str = "", many: bool = False):
        label = Field.LABEL_REPEATED if many else Field.LABEL_OPTIONAL
        type_name = f".{PACKAGE}.{of}" if of else None
        return message.field.add(
            name=name, number=number, type=kind, label=label, type_name=type_name
        )

    def table(message: Any, name: str, number: int, entry: str) -> None:
        nested = message.nested_type.add(name=entry)
        nested.options.map_entry = True
        field(nested, "key", 1, Field.TYPE_STRING)
        field(nested, "value", 2, Field.TYPE_MESSAGE, "Payload")
        field(message, name, number, Field.TYPE_MESSAGE, f"{message.name}.{entry}", many=True)

    payload = file.message_type.add(name="Payload")
    payload.oneof_decl.add(name="value")
    for name, (number, kind, of) in VALUES.items():
        field(payload, name, number, kind, of).oneof_index = 0
    several = file.message_type.add(name="PayloadList")
    field(several, "payloads", 1, Field.TYPE_MESSAGE, "Payload", many=True)
    table(file.message_type.add(name="PayloadMap"), "payload_map", 1, "PayloadMapEntry")
    request = file.message_type.add(name="KaggleEvaluationRequest")
    field(request, "name", 1, Field.TYPE_STRING)
    field(request, "args", 2, Field.TYPE_MESSAGE, "Payload", many=True)
    table(request, "kwargs", 3, "KwargsEntry")
    answer = file.message_type.add(name="KaggleEvaluationResponse")
    field(answer, "payload", 1, Field.TYPE_MESSAGE, "Payload")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [message.name for message in file.message_type]
    find = pool.FindMessageTypeByName
    return {n: message_factory.GetMessageClass(find(f"{PACKAGE}.{n}")) for n in names}


MESSAGES = _described()
Payload = MESSAGES["Payload"]
Request = MESSAGES["KaggleEvaluationRequest"]
Answer = MESSAGES["KaggleEvaluationResponse"]


def encode(value: Any) -> Any:
    """A value as a payload. Floats travel in 32 bits. Raises TypeError for what cannot travel."""
    plain: dict[type, str] = {str: "str_value", bool: "bool_value", int: "int_value"}
    if type(value) in plain:
        return Payload(**{plain[type(value)]: value})
    if isinstance(value, float):  # NumPy's double too
        return Payload(float_value=value)
    if value is None:
        return Payload(none_value=True)
    if isinstance(value, list | tuple):
        several = MESSAGES["PayloadList"](payloads=map(encode, value))
        return Payload(**{f"{type(value).__name__}_value": several})
    if isinstance(value, dict):
        entries = {key: encode(each) for key, each in value.items()}
        return Payload(dict_value=MESSAGES["PayloadMap"](payload_map=entries))
    if is_frame(value):
        buffer = io.BytesIO()
        value.write_ipc_stream(buffer, compression="lz4")
        return Payload(polars_dataframe_value=buffer.getvalue())
    raise TypeError(f"{type(value).__name__} cannot travel: give a Polars frame or plain values")


def decode(payload: Any) -> Any:
    """The value in a payload."""
    kind = payload.WhichOneof("value")
    value = getattr(payload, kind)
    readers: dict[str, Callable[[Any], Any]] = {
        "none_value": lambda _: None,
        "list_value": lambda several: [decode(each) for each in several.payloads],
        "tuple_value": lambda several: tuple(decode(each) for each in several.payloads),
        "dict_value": lambda table: {k: decode(each) for k, each in table.payload_map.items()},
        "polars_dataframe_value": _frame,
    }
    return readers[kind](value) if kind in readers else value


def is_frame(value: Any) -> bool:
    """Whether a value is a Polars frame; Polars is imported by whoever has one."""
    return type(value).__module__.startswith("polars.") and hasattr(value, "write_ipc_stream")


def _frame(content: bytes) -> Any:
    import polars

    return polars.read_ipc_stream(io.BytesIO(content))
