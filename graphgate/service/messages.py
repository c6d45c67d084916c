"""Questions and answers as JSON: the models from which the specification is generated."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, create_model

from graphgate.store.view import StoreInfo

MOST_IDS = 1000
MOST_VECTORS = 1000
MOST_NEIGHBORS = 1000
MOST_NODES = 10_000
MOST_EDGES = 100_000
LONGEST_ID = 1000  # characters
LONGEST_CONDITION = 1000
LONGEST_VECTOR = 16_384

Text = Annotated[StrictStr, Field(max_length=LONGEST_ID)]
NodeId = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | Text
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Words = Annotated[list[StrictStr], Field(max_length=10_000)]
Counts = Annotated[dict[StrictStr, Number], Field(max_length=10_000)]
Value = StrictBool | Number | Annotated[StrictStr, Field(max_length=100_000)] | Words | Counts
Ids = Annotated[list[NodeId], Field(min_length=1, max_length=MOST_IDS)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=LONGEST_VECTOR)]
NeighborCount = Annotated[
    int, Field(ge=1, le=MOST_NEIGHBORS, description="Neighbors per query.", examples=[10])
]
Condition = Annotated[
    str | None,
    Field(
        max_length=LONGEST_CONDITION,
        description="Condition on the attributes of neighbors, such as age > 30 and town = 'Ulm'.",
    ),
]
QueryIds = Annotated[
    list[Text],
    Field(min_length=1, max_length=MOST_IDS, description="Node id; repeat it for several."),
]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NodesQuery(Message):
    id: QueryIds
    vectors: bool = Field(True, description="Whether to return vectors.")


class LinksQuery(Message):
    id: QueryIds
    k: NeighborCount = 10


class SimilarQuery(LinksQuery):
    where: Condition = None


class NewNode(Message):
    """A node with all its attributes; null where a value is missing."""

    id: NodeId
    attributes: dict[StrictStr, Value | None] = Field(default_factory=dict, max_length=10_000)
    label: StrictInt | Text | None = None


class NewEdge(Message):
    source: NodeId
    target: NodeId
    weight: Annotated[Number, Field(gt=0)] | None = Field(
        None, description="Only in graphs with weights."
    )


NewNodes = Annotated[list[NewNode], Field(max_length=MOST_NODES)]
NewEdges = Annotated[list[NewEdge], Field(max_length=MOST_EDGES)]


class SimilarRequest(Message):
    """Exactly one of ids, vectors and nodes; edges connect nodes with each other and with stored
    ones.
    """

    ids: Ids | None = None
    vectors: Annotated[list[Vector], Field(min_length=1, max_length=MOST_VECTORS)] | None = None
    nodes: Annotated[NewNodes, Field(min_length=1, max_length=MOST_VECTORS)] | None = None
    edges: NewEdges = Field(default_factory=list)
    k: Annotated[NeighborCount, Field(strict=True)] = 10
    where: Condition = None


class AddRequest(Message):
    """New nodes and edges, or changed attributes, labels and weights."""

    nodes: NewNodes = Field(default_factory=list)
    edges: NewEdges = Field(default_factory=list)
    vectors: StrictBool = Field(True, description="Whether to return vectors.")


# --- answers -------------------------------------------------------------------------------------


class Health(BaseModel):
    status: str
    version: int
    nodes: int


_INFO: dict[str, Any] = {name: (kind, ...) for name, kind in StoreInfo.__annotations__.items()}
Info: Any = create_model(
    "Info",
    __doc__="What the store holds; attributes are null where nodes have features.",
    **_INFO | {"accuracy": (str, ...), "attributes": (dict[str, str] | None, ...)},
)


class NodeVector(BaseModel):
    id: int | str
    vector: list[float] | None = None


class Node(NodeVector):
    label: Any = None
    attributes: dict[str, Any]


class NodesAnswer(BaseModel):
    version: int
    nodes: list[Node]


class Neighbor(BaseModel):
    id: int | str
    cosine: float


class Neighbors(BaseModel):
    id: int | str
    neighbors: list[Neighbor]


class SimilarAnswer(BaseModel):
    """One result per query, in order; a vector's id is its position."""

    version: int
    results: list[Neighbors]


class LinksAnswer(SimilarAnswer):
    """Suggested neighbors per node, in order, largest cosine first; these are no probabilities."""

    ranked_by: Literal["cosine"] = Field(description="What suggestions are ranked by.")


class AddAnswer(BaseModel):
    version: int
    added: list[NodeVector]
    changed: list[NodeVector]
    edges: int = Field(description="Edges that are new or have another weight.")
    updated: int = Field(description="Stored nodes with other attributes or another label.")


class Problem(BaseModel):
    """A mistake in one sentence; field names the part of the request that it is about."""

    error: str
    field: str | None
