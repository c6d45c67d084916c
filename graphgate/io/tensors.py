"""Tensors with a JSON header in one file (safetensors), the format of models and checkpoints.

Nothing in such a file can run code, and a file that is not exactly as expected is refused before
it is used.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from graphgate.errors import InputError
from graphgate.io.files import (
    Schema,
    check_fields,
    check_file,
    parse_json,
    reading,
    utf8_name,
    write_bytes,
)

_HEADER = "graphgate"
VERSION = 3


def write_tensors(
    path: Path | str, kind: str, header: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write tensors under a header; `kind` says what they are."""
    text = json.dumps({"kind": kind, "version": VERSION, **header}, allow_nan=False)
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, save(plain, metadata={_HEADER: text}))


def read_tensors(
    path: Path | str, kind: str, schema: Schema
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read what `write_tensors` wrote; `schema` gives the header's fields and their types."""
    path = check_file(path)
    what = f"{path} is not a graphgate {kind} file"
    try:
        with reading(path), utf8_name(path) as name, safe_open(name, framework="pt") as file:
            metadata = file.metadata() or {}
            if _HEADER not in metadata:
                raise InputError(f"{what}: it lacks the header {_HEADER!r}")
            header = _checked_header(metadata[_HEADER], kind, schema, what)
            # Copies: those of the library are views of the file, whatever becomes of it.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{what}, or it is damaged: {error}") from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise InputError(f"{what}: its tensor {name!r} contains values that are not finite")
    return header, tensors


def _checked_header(text: str, kind: str, schema: Schema, what: str) -> dict[str, Any]:
    try:
        header = parse_json(text)
    except (ValueError, RecursionError):
        raise InputError(f"{what}: its header is not JSON") from None
    seen = header.get("kind") if isinstance(header, dict) else None
    if seen != kind:
        raise InputError(f"{what}: its header says {seen!r}")
    version = header.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{what} of a supported version: its version is {version!r}, not {VERSION}"
        )
    body = {name: value for name, value in header.items() if name not in ("kind", "version")}
    check_fields(body, schema, what)
    return body


def check_tensors(
    tensors: Mapping[str, Tensor],
    expected: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
    what: str,
) -> None:
    """Refuse tensors whose names, shapes or types are not those that the header requires."""
    if tensors.keys() != expected.keys():
        raise InputError(
            f"{what}: its tensors do not match its header "
            f"({min(tensors.keys() ^ expected.keys())!r})"
        )
    for name, (shape, dtype) in expected.items():
        if tuple(tensors[name].shape) != shape or tensors[name].dtype != dtype:
            seen = f"{tuple(tensors[name].shape)} of {tensors[name].dtype}"
            raise InputError(f"{what}: its tensor {name!r} is {seen}, not {shape} of {dtype}")
