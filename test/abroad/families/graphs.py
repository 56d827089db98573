"""PyTorch Geometric: its ready models and its convolutions on a random graph."""

import inspect

import torch

from program import mean_of

NEEDS = ["torch_geometric"]


def convolutions():
    from torch_geometric import nn
    found = {}
    for name in nn.conv.__all__:
        parameters = inspect.signature(getattr(nn, name).__init__).parameters
        needed = [key for key, value in parameters.items() if value.default is value.empty and value.kind is value.POSITIONAL_OR_KEYWORD and key != "self"]
        if needed in (["in_channels", "out_channels"], ["in_channels"], ["out_channels"]):
            found[name] = needed
    return found


def names():
    return ["model.GCN", "model.GraphSAGE", "model.GIN", "model.GAT", "model.EdgeCNN", "model.PNA", *(f"conv.{name}" for name in convolutions())]


def run(name, told):
    from torch_geometric import nn
    from torch_geometric.utils import degree, erdos_renyi_graph
    edges = erdos_renyi_graph(40, 0.1).to(told.device)
    features = torch.randn(40, 16).to(told.device)
    kind, _, name = name.partition(".")
    if kind == "model":
        options = {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"],
                   "deg": torch.bincount(degree(edges[1], 40).long())} if name == "PNA" else {}
        model = getattr(nn, name)(16, 32, 2, 4, **options)
    else:
        values = {"in_channels": 16, "out_channels": 4 if "in_channels" in convolutions()[name] else 16}
        model = getattr(nn, name)(**{key: values[key] for key in convolutions()[name]})
    told.trained(model.to(told.device), (features, edges), mean_of, steps=3)
    model.eval()
    with torch.inference_mode():
        batch = torch.arange(40, device=told.device) // 10
        told("pooled", nn.global_mean_pool(mean_of(model(features, edges)) * features, batch))
