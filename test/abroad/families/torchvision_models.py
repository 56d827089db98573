"""torchvision's models of all kinds and its operators."""

import torch

from program import mean_of

NEEDS = ["torchvision"]


def names():
    import torchvision
    big = ("vit_l", "vit_h", "regnet_y_128", "_32gf", "_16gf", "vgg", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "_l", "wide_", "convnext_large",
           "swin3d_b", "mvit", "resnet152", "raft_large")
    return [name for name in torchvision.models.list_models() if not any(part in name for part in big)] + \
        [f"ops.{name}" for name in ("nms", "batched_nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d", "focal")]


def operators(name, told):
    from torchvision import ops
    boxes = torch.rand(40, 4) * 20
    boxes[:, 2:] += boxes[:, :2] + 1
    boxes = boxes.to(told.device)
    scores = torch.rand(40).to(told.device)
    features = torch.randn(2, 8, 32, 32).to(told.device).requires_grad_()
    regions = [boxes[:3], boxes[3:6]]
    if name == "nms":
        told("kept", ops.nms(boxes, scores, 0.3))
    elif name == "batched_nms":
        told("kept", ops.batched_nms(boxes, scores, (torch.arange(40) % 3).to(told.device), 0.3))
    elif name == "deform_conv2d":
        offset = torch.randn(2, 18, 30, 30).to(told.device).requires_grad_()
        weight = torch.randn(4, 8, 3, 3).to(told.device).requires_grad_()
        result = ops.deform_conv2d(features, offset, weight)
        result.square().mean().backward()
        told("result", [result, features.grad, offset.grad, weight.grad])
    elif name == "focal":
        told("loss", ops.sigmoid_focal_loss(features, torch.rand(2, 8, 32, 32).round().to(told.device), reduction="mean"))
    else:
        result = getattr(ops, name)(features, regions, output_size=2)
        result.square().mean().backward()
        told("result", [result, features.grad])


def run(name, told):
    import torchvision
    if name.startswith("ops."):
        operators(name.partition(".")[2], told)
        return
    module = torchvision.models.get_model_builder(name).__module__
    options = {"weights_backbone": None} if "detection" in module or "segmentation" in module else {}
    if "inception" in name or "googlenet" in name:
        options["init_weights"] = False
    model = torchvision.models.get_model(name, weights=None, **options).to(told.device)
    if "detection" in module:
        images = [torch.rand(3, 96, 96).to(told.device) for _ in range(2)]
        targets = [{"boxes": torch.tensor([[10., 10, 50, 60], [30, 20, 90, 80]]).to(told.device), "labels": torch.tensor([1, 2]).to(told.device),
                    "masks": torch.ones(2, 96, 96, dtype=torch.uint8).to(told.device),
                    "keypoints": torch.ones(2, 17, 3).to(told.device)} for _ in range(2)]
        told.trained(model, (images, targets), mean_of, steps=1)
    elif "video" in module:
        told.trained(model, (torch.randn(1, 3, 16, 112, 112).to(told.device),), mean_of, steps=1)
    elif "optical_flow" in module:
        images = torch.rand(1, 3, 128, 128).to(told.device)
        told.trained(model, (images, images.flip(-1), 3), mean_of, steps=1)
    else:
        size = 299 if "inception" in name else 224 if "vit" in name or "max" in name else 96
        told.trained(model, (torch.randn(2, 3, size, size).to(told.device),), mean_of)
