"""Hugging Face's language, audio and vision models with small settings and random weights: a training step, and generation."""

import inspect

import torch

NEEDS = ["transformers"]
SMALL = {"hidden_size": 32, "d_model": 32, "n_embd": 32, "embedding_size": 32, "embed_dim": 32, "dim": 32, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2,
         "num_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2, "num_encoder_layers": 2, "num_attention_heads": 4, "n_head": 4,
         "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
         "ffn_dim": 64, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "d_ff": 64, "d_kv": 8, "hidden_dim": 64, "n_inner": 64, "vocab_size": 99,
         "max_position_embeddings": 64, "n_positions": 64, "image_size": 32, "patch_size": 8, "head_dim": 8, "num_experts": 4, "num_local_experts": 4,
         "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "kv_lora_rank": 8, "q_lora_rank": 8, "state_size": 8, "sliding_window": 16,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def kinds():
    from transformers.models.auto import modeling_auto as auto
    return {"causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            "seq2seq": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, "image": auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES}


def names():
    return [f"{kind}.{model_type}" for kind, mapping in kinds().items() for model_type in mapping]


def small_config(model_type):
    from transformers import CONFIG_MAPPING
    kind = CONFIG_MAPPING[model_type]
    plain = kind()
    known = set(inspect.signature(kind.__init__).parameters) | set(vars(plain))
    options = {key: value for key, value in SMALL.items() if key in known or key in kind.attribute_map}
    return kind(**options)


def run(name, told):
    import transformers
    kind, _, model_type = name.partition(".")
    entry = kinds()[kind][model_type]
    model_class = getattr(transformers, entry if isinstance(entry, str) else entry[0])
    model = model_class(small_config(model_type))
    if sum(p.numel() for p in model.parameters()) > 30_000_000:
        raise ValueError("its small settings are not small")
    model = model.to(told.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if kind == "image":
        size = getattr(model.config, "image_size", 32)
        inputs = {"pixel_values": torch.randn(2, getattr(model.config, "num_channels", 3), size, size), "labels": torch.tensor([0, 1])}
    else:
        ids = torch.randint(3, 99, (2, 12))
        inputs = {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}
    inputs = {key: value.to(told.device) for key, value in inputs.items()}
    model.train()
    for step in range(2):
        loss = model(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        told(f"loss of step {step}", loss)
    model.eval()
    with torch.inference_mode():
        told("logits", model(**inputs).logits)
        if kind in ("causal", "seq2seq") and hasattr(model, "generate"):
            told("generated", model.generate(inputs["input_ids"], max_new_tokens=4, do_sample=False).tolist())
