"""Makes creating ops, comparing values and reading arrays of integers cheaper: a compilation does each some 100,000
times.

* An op without successors or regions skips the steps for them; the default properties of a class are found once.
* Values and ops are equal if they are the same object, which is Python's own rule; xDSL spells it as methods.
* An op without regions cannot contain the block that it is added to, so the blocks around are not searched.
* Arguments of a constructor that are one value, type or region each need no search for sequences.
* Operands, results and regions by name are taken from their tuples directly.
* The operands of an op are the tuple itself, which can also replace an operand; xDSL makes a view of it at each access.
* Properties that only read a field are read in C, and a block's ops and a region's blocks are walked by a generator.
* The numbers of an array attribute, such as the sizes of operand segments, and of a shape are unpacked once, and equal
  arrays of integers are one object.

Reads and writes: methods of xDSL's operations, values, blocks and array attributes, once, when the package is imported.
Leaves: what they do, including their errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter, index
from types import NoneType
from typing import Any

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseArrayBase,
    IntegerType,
    LocationAttr,
    MemRefType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, BlockOps, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import IRUses, IRWithName, IRWithUses, RegionBlocks, SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef, VarIRConstruct, operations
from xdsl.irdl.operations import BaseAccessor, BaseAttrAccessor, BeforeVariadicSingleAccessor

from mlirad.xdsl_support.once_per_object import once

_OPERAND, _RESULT, _REGION = VarIRConstruct.OPERAND, VarIRConstruct.RESULT, VarIRConstruct.REGION

_Defaults = tuple[tuple[str, Attribute], ...]


def create_quickly() -> None:
    """Replace the methods."""
    methods: list[tuple[type, str, Any]] = [
        (Operation, "__init__", _created),
        (IRDLOperation, "__post_init__", _with_defaults),
        (Block, "_attach_op", _attached),
        (DenseArrayBase, "get_values", once(vars(DenseArrayBase)["get_values"])),
        *((kind, "get_shape", once(vars(kind)["get_shape"])) for kind in (MemRefType, TensorType, VectorType)),
        (DenseArrayBase, "from_list", staticmethod(_packed)),
        (SSAValues, "__getitem__", _item),
        (BeforeVariadicSingleAccessor, "__get__", _at_its_place),
        (BaseAccessor, "__get__", _by_name),
        (BaseAttrAccessor, "__get__", _by_segments),
        (BlockOps, "__iter__", _walked),
        (RegionBlocks, "__iter__", _blocks_walked),
        (Operation, "operands", property(attrgetter("_operands"), _with_operands)),
        (Operation, "parent_op", _op_around),
        (IRWithName, "name_hint", property(attrgetter("_name"), vars(IRWithName)["name_hint"].fset)),
        (IRWithUses, "uses", property(IRUses)),
        (Block, "ops", property(BlockOps)),
        (Region, "blocks", property(RegionBlocks)),
    ]
    for kind in (SSAValue, Operation, IRDLOperation):
        methods += [(kind, "__eq__", object.__eq__), (kind, "__hash__", object.__hash__)]
    for kind, name, field in _FIELDS:
        methods.append((kind, name, property(attrgetter(field))))
    for kind, name, method in methods:
        setattr(kind, name, method)
    operations.irdl_build_arg_list = _argument_list


_FIELDS: tuple[tuple[type, str, str], ...] = (
    (SSAValue, "type", "_type"),
    (OpResult, "owner", "op"),
    (BlockArgument, "owner", "block"),
    (Use, "operation", "_operation"),
    (Use, "index", "_index"),
    (Operation, "next_op", "_next_op"),
    (Operation, "prev_op", "_prev_op"),
    (Block, "first_op", "_first_op"),
    (Block, "last_op", "_last_op"),
    (Block, "args", "_args"),
    (Block, "next_block", "_next_block"),
    (Block, "prev_block", "_prev_block"),
    (Region, "first_block", "_first_block"),
    (Region, "last_block", "_last_block"),
)
"""The properties that only return a field: the class, the property, the field."""


class _Operands(SSAValues[SSAValue]):
    """The operands of an op. An item can be set, which gives the op other operands; these here stay as they are."""

    op: Operation

    def __setitem__(self, index: int, operand: SSAValue) -> None:
        op = self.op
        operands, use = list(op._operands), op._operand_uses[index]
        operands[index].remove_use(use)
        operand.add_use(use)
        operands[index] = operand
        op._operands = _operands_of(op, operands)


def _operands_of(op: Operation, values: Sequence[SSAValue]) -> _Operands:
    operands = _Operands(values)
    operands.op = op
    return operands


_new = object.__new__


def _uses_of(op: Operation, values: Sequence[SSAValue]) -> tuple[Use, ...]:
    """The uses of an op's operands. Each comes first in the list of its value, as `add_use` says."""
    uses: list[Use] = []
    for number, value in enumerate(values):
        use = _new(Use)
        use._operation, use._index, use._prev_use = op, number, None
        use._next_use = following = value.first_use
        if following is not None:
            following._prev_use = use
        value.first_use = use
        uses.append(use)
    return tuple(uses)


def _with_operands(self: Operation, new: Sequence[SSAValue]) -> None:
    """The setter of `Operation.operands`."""
    for operand, use in zip(self._operands, self._operand_uses, strict=False):  # an op without references has no uses
        operand.remove_use(use)
    self._operands = _operands_of(self, new)
    self._operand_uses = _uses_of(self, self._operands)


def _op_around(self: Operation) -> Operation | None:
    """`Operation.parent_op`."""
    block = self.parent
    region = None if block is None else block.parent
    return None if region is None else region.parent


def _created(
    self: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    """`Operation.__init__`."""
    self._operands = values = _Operands(operands)
    values.op = self
    self._operand_uses = _uses_of(self, values)
    self.results = SSAValues([OpResult(type_, self, index) for index, type_ in enumerate(result_types)])
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = list(successors)
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


_build_arguments = operations.irdl_build_arg_list


@cache
def _is_one_part(kind: type) -> bool:
    """Whether an argument of this class is a value, a type, a block or a region, and not several or none."""
    return kind is not NoneType and not issubclass(kind, Sequence)


def _argument_list(
    construct: VarIRConstruct, args: Sequence[Any], arg_defs: Sequence[tuple[str, Any]], error_prefix: str = ""
) -> tuple[list[Any], list[int]]:
    """`irdl_build_arg_list`."""
    if len(args) == len(arg_defs) and all(map(_is_one_part, map(type, args))):
        return list(args), [1] * len(args)
    return _build_arguments(construct, args, arg_defs, error_prefix)


@cache
def _defaults_of(kind: type[IRDLOperation]) -> tuple[_Defaults, _Defaults]:
    """The default properties and attributes of a class of ops."""
    definition = kind.get_irdl_definition()
    found: list[_Defaults] = []
    for definitions in (definition.properties, definition.attributes):
        needed = {name: each for name, each in definitions.items() if not isinstance(each, OptionalDef)}
        found.append(tuple((name, x.default_value) for name, x in needed.items() if x.default_value is not None))
    return found[0], found[1]


_check_name = Operation.__post_init__  # the name belongs to the class


def _with_defaults(self: IRDLOperation) -> None:
    """`IRDLOperation.__post_init__`."""
    properties, attributes = _defaults_of(self.__class__)
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    if Operation.__post_init__ is not _check_name:  # xDSL's implicit builders replace it, to collect what is created
        Operation.__post_init__(self)


_pack = DenseArrayBase.from_list
_MOST_ARRAYS = 4096
_arrays: dict[tuple[int, tuple[int, ...]], DenseArrayBase] = {}
"""Arrays of integers, by their element type, which they keep alive, and their numbers."""


def _packed(data_type: Any, data: Sequence[Any]) -> DenseArrayBase:
    """`DenseArrayBase.from_list`."""
    if data_type.__class__ is not IntegerType:
        return _pack(data_type, data)  # 0.0 and -0.0 are equal
    try:
        key = id(data_type), tuple(map(index, data))
    except TypeError:
        return _pack(data_type, data)
    found = _arrays.get(key)
    if found is None:
        found = _pack(data_type, key[1])
        if len(_arrays) >= _MOST_ARRAYS:
            _arrays.clear()
        _arrays[key] = found
    return found


def _item(self: SSAValues, index: Any) -> Any:
    """`SSAValues.__getitem__`."""
    found = tuple.__getitem__(self, index)
    return SSAValues(found) if found.__class__ is tuple else found


def _parts(op: Operation, construct: VarIRConstruct) -> Sequence[Any]:
    """The operands, results, regions or successors of an op."""
    if construct is _OPERAND:
        return op._operands
    if construct is _RESULT:
        return op.results
    return op.regions if construct is _REGION else op.successors


def _at_its_place(self: BeforeVariadicSingleAccessor, obj: Any, _owner: type | None = None) -> Any:
    """`BeforeVariadicSingleAccessor.__get__`."""
    if self.construct is _OPERAND:
        return tuple.__getitem__(obj._operands, self.idx)
    if self.construct is _RESULT:
        return tuple.__getitem__(obj.results, self.idx)
    return _parts(obj, self.construct)[self.idx]


def _by_name(self: BaseAccessor, obj: Any, _owner: type | None = None) -> Any:
    """`BaseAccessor.__get__`."""
    return self.index(_parts(obj, self.construct))


def _by_segments(self: BaseAttrAccessor, obj: Any, _owner: type | None = None) -> Any:
    """`BaseAttrAccessor.__get__`."""
    option = self.option
    sizes: Any = (obj.properties if option.as_property else obj.attributes)[option.attribute_name]
    return self.index(sizes.get_values(), _parts(obj, self.construct))


def _walked(self: BlockOps) -> Iterator[Operation]:
    """`BlockOps.__iter__`."""
    op = self.block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _blocks_walked(self: RegionBlocks) -> Iterator[Block]:
    """`RegionBlocks.__iter__`."""
    block = self._region._first_block
    while block is not None:
        following = block._next_block
        yield block
        block = following


def _attached(self: Block, operation: Operation) -> None:
    """`Block._attach_op`."""
    if operation.parent is not None:
        raise ValueError("Can't add to a block an operation already attached to a block.")
    if operation.regions and operation.is_ancestor(self):
        raise ValueError("Can't add an operation to a block contained in the operation.")
    operation.parent = self
