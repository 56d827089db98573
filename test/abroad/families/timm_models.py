"""timm's models, one of each architecture's entry points, small images, random weights."""

import torch

from program import mean_of

NEEDS = ["timm"]


def names():
    import timm
    return [name for name in timm.list_models()
            if not any(size in name for size in ("large", "huge", "giant", "xxl", "xl", "_l", "gigantic", "_so400m", "enormous", "_xp"))]


def run(name, told):
    import timm
    try:
        model = timm.create_model(name, num_classes=5, img_size=64)
        size = (3, 64, 64)
    except (TypeError, AssertionError, ValueError):
        model = timm.create_model(name, num_classes=5)
        size = model.default_cfg.get("input_size", (3, 224, 224))
        if not model.default_cfg.get("fixed_input_size"):
            size = (3, 96, 96)
    model = model.to(told.device)
    images = torch.randn(2, *size).to(told.device)
    told.trained(model, (images,), mean_of)
