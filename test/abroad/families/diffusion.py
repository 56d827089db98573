"""Diffusers: schedulers that denoise, and its models, with random weights."""

import torch

from program import mean_of

NEEDS = ["diffusers", "transformers", "scipy"]
MODELS = {
    "UNet2DModel": {"sample_size": 16, "block_out_channels": (32, 64), "layers_per_block": 1, "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
                    "up_block_types": ("AttnUpBlock2D", "UpBlock2D")},
    "UNet2DConditionModel": {"sample_size": 16, "block_out_channels": (32, 64), "layers_per_block": 1, "cross_attention_dim": 32, "attention_head_dim": 8,
                             "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")},
    "AutoencoderKL": {"block_out_channels": (32, 64), "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2},
    "VQModel": {"block_out_channels": (32, 64), "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2},
    "DiTTransformer2DModel": {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 2, "sample_size": 16, "num_embeds_ada_norm": 10},
    "UNet1DModel": {"block_out_channels": (32, 64), "sample_size": 32, "in_channels": 2, "out_channels": 2, "extra_in_channels": 16,
                    "down_block_types": ("DownBlock1DNoSkip", "DownBlock1D"), "up_block_types": ("UpBlock1D", "UpBlock1DNoSkip")},
}


def names():
    import diffusers
    return [f"scheduler.{name}" for name in dir(diffusers.schedulers) if name.endswith("Scheduler")] + [f"model.{name}" for name in MODELS]


def run(name, told):
    import diffusers
    kind, _, name = name.partition(".")
    if kind == "scheduler":
        model = diffusers.UNet2DModel(**MODELS["UNet2DModel"]).to(told.device).eval()
        scheduler = getattr(diffusers, name)()
        scheduler.set_timesteps(8, device=told.device)
        sample = torch.randn(1, 3, 16, 16).to(told.device)
        with torch.no_grad():
            for at in scheduler.timesteps:
                noise = model(scheduler.scale_model_input(sample, at) if hasattr(scheduler, "scale_model_input") else sample, at.to(told.device)).sample
                sample = scheduler.step(noise, at, sample).prev_sample
        told("sample", sample)
        return
    model = getattr(diffusers, name)(**MODELS[name]).to(told.device)
    image = torch.randn(2, 4 if name in ("UNet2DConditionModel", "DiTTransformer2DModel") else 3, 16, 16).to(told.device)
    steps = torch.tensor([3, 7]).to(told.device)
    inputs = {"UNet2DModel": (image, steps), "UNet2DConditionModel": (image, steps, torch.randn(2, 5, 32).to(told.device)), "AutoencoderKL": (image,),
              "VQModel": (image,), "DiTTransformer2DModel": (image, None, steps, torch.tensor([1, 2]).to(told.device)),
              "UNet1DModel": (torch.randn(2, 2, 32).to(told.device), steps)}[name]
    if name == "DiTTransformer2DModel":
        keywords = {"timestep": steps, "class_labels": inputs[3]}
        outputs = model(image, **keywords)
        mean_of(outputs.sample).backward()
        told("outputs", outputs.sample)
        told("gradients", [p.grad for p in model.parameters() if p.grad is not None][:20])
        return
    told.trained(model, inputs, mean_of)
