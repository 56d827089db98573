"""kornia's augmentations, filters, losses and features; MONAI's networks and losses."""

import inspect

import torch

from program import mean_of

NEEDS = ["kornia", "monai"]


def plain_classes(module, base=torch.nn.Module):
    """Those that are made without arguments."""
    found = {}
    for name, kind in vars(module).items():
        if inspect.isclass(kind) and issubclass(kind, base) and not name.startswith("_"):
            parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
            if all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
                found[name] = kind
    return found


MONAI_NETS = {"UNet": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2, "channels": (8, 16, 32), "strides": (2, 2)},
              "BasicUNet": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2, "features": (8, 8, 16, 16, 32, 8)},
              "SegResNet": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2}, "DynUNet": {
                  "spatial_dims": 2, "in_channels": 3, "out_channels": 2, "kernel_size": [3, 3, 3], "strides": [1, 2, 2], "upsample_kernel_size": [2, 2]},
              "AttentionUnet": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2, "channels": (8, 16, 32), "strides": (2, 2)},
              "UNETR": {"in_channels": 3, "out_channels": 2, "img_size": 32, "spatial_dims": 2, "hidden_size": 48, "num_heads": 4, "mlp_dim": 64},
              "SwinUNETR": {"in_channels": 3, "out_channels": 2, "spatial_dims": 2, "feature_size": 12}, "VNet": {
                  "spatial_dims": 2, "in_channels": 3, "out_channels": 2},
              "DenseNet121": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2}, "SENet154": {"spatial_dims": 2, "in_channels": 3, "num_classes": 2},
              "EfficientNetBN": {"model_name": "efficientnet-b0", "pretrained": False, "num_classes": 2}, "ViT": {
                  "in_channels": 3, "img_size": 32, "patch_size": 8, "spatial_dims": 2, "hidden_size": 48, "mlp_dim": 64, "num_layers": 2, "num_heads": 4},
              "HighResNet": {"spatial_dims": 2, "in_channels": 3, "out_channels": 2}, "FlexibleUNet": {
                  "in_channels": 3, "out_channels": 2, "backbone": "efficientnet-b0"}}
MONAI_LOSSES = ["DiceLoss", "DiceCELoss", "DiceFocalLoss", "FocalLoss", "TverskyLoss", "GeneralizedDiceLoss", "SSIMLoss", "HausdorffDTLoss"]


def names():
    import kornia
    return [f"augment.{name}" for name in plain_classes(kornia.augmentation)] + [f"filter.{name}" for name in plain_classes(kornia.filters)] + \
        [f"color.{name}" for name in plain_classes(kornia.color)] + [f"feature.{name}" for name in plain_classes(kornia.feature)] + \
        [f"net.{name}" for name in MONAI_NETS] + [f"loss.{name}" for name in MONAI_LOSSES]


def run(name, told):
    import kornia
    kind, _, name = name.partition(".")
    images = torch.rand(2, 3, 64, 64).to(told.device)
    if kind == "net":
        import monai
        model = getattr(monai.networks.nets, name)(**MONAI_NETS[name]).to(told.device)
        size = 32 if name in ("UNETR", "ViT") else 64
        told.trained(model, (images[..., :size, :size].contiguous(),), mean_of)
    elif kind == "loss":
        import monai
        scores = torch.rand(2, 1, 32, 32).to(told.device).requires_grad_()
        target = torch.rand(2, 1, 32, 32).round().to(told.device)
        options = {"spatial_dims": 2} if name == "SSIMLoss" else {}
        loss = getattr(monai.losses, name)(**options)(scores, target)
        loss.backward()
        told("loss", [loss, scores.grad])
    else:
        module = {"augment": kornia.augmentation, "filter": kornia.filters, "color": kornia.color, "feature": kornia.feature}[kind]
        images.requires_grad_()
        outputs = plain_classes(module)[name]().to(told.device)(images)
        told("outputs", outputs)
        loss = mean_of(outputs)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            loss.backward()
            told("gradient", images.grad)
