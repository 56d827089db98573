"""Training frameworks: Lightning, Accelerate, Ignite, PEFT, Sentence Transformers, Ultralytics; on one device and on two."""

import os
import subprocess
import sys
import tempfile

import torch

NEEDS = ["lightning", "accelerate", "pytorch-ignite", "peft", "transformers", "sentence-transformers", "ultralytics"]
PEFT_METHODS = ("LoraConfig", "IA3Config", "LoHaConfig", "LoKrConfig", "OFTConfig", "BOFTConfig", "VeraConfig", "AdaLoraConfig", "PromptTuningConfig",
                "PrefixTuningConfig", "PromptEncoderConfig")
YOLO = ("yolov8n.yaml", "yolov8n-seg.yaml", "yolov8n-pose.yaml", "yolov8n-cls.yaml", "yolov8n-obb.yaml", "yolo11n.yaml", "yolov5n.yaml", "yolov9t.yaml",
        "yolov10n.yaml", "yolo12n.yaml", "rtdetr-l.yaml")


def names():
    return ["lightning.1", "lightning.1.16-mixed", "lightning.2", "lightning.fabric", "accelerate.1", "accelerate.2", "accelerate.bf16", "ignite.trainer",
            "sentence.encode", "sentence.fit", "trainer.transformers", *(f"peft.{name}" for name in PEFT_METHODS), *(f"yolo.{name}" for name in YOLO)]


def lightning_run(told, devices, precision="32-true"):
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
            self.losses = []

        def training_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss, sync_dist=True)
            self.losses.append(loss.detach())
            return loss

        def validation_step(self, batch, _):
            self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean(), sync_dist=True)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    lightning.seed_everything(3)
    data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(max_epochs=2, accelerator="auto", devices=devices, precision=precision, default_root_dir=folder, logger=False,
                                    strategy="ddp_spawn" if devices > 1 else "auto", enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=8), torch.utils.data.DataLoader(data, batch_size=8))
    told("metrics", {key: value for key, value in trainer.callback_metrics.items()})
    told("losses", torch.stack(model.losses) if model.losses else None)
    told("parameters", list(model.parameters()))


def fabric_run(told):
    import lightning
    fabric = lightning.Fabric(accelerator="auto", devices=1)
    fabric.launch()
    model = torch.nn.Linear(8, 3)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    for batch in fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.randn(32, 8), batch_size=8)):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        told("loss", loss)


ACCELERATED = """
import sys, torch, accelerate
accelerate.utils.set_seed(5)
accelerator = accelerate.Accelerator(mixed_precision=sys.argv[1])
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data, batch_size=8))
for inputs, labels in loader:
    with accelerator.accumulate(model):
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    total = accelerator.gather(loss.detach()).mean()
    accelerator.print(round(total.item(), 4))
"""


def accelerated(told, processes, precision="no"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ACCELERATED)
        command = [sys.executable, path, precision] if processes == 1 else \
            [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", path, precision]
        told("printed", [float(word) for word in subprocess.check_output(command, text=True).split()])


def ignite_run(told):
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(told.device)
    criterion = torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), criterion, device=told.device)
    metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "precision": Precision(average=True), "confusion": ConfusionMatrix(3)}
    evaluator = create_supervised_evaluator(model, metrics=metrics, device=told.device)
    data = [(torch.randn(8, 8), torch.randint(0, 3, (8,))) for _ in range(6)]

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(_):
        told("metrics", dict(evaluator.run(data).metrics))

    trainer.run(data, max_epochs=3)


def peft_run(name, told):
    import peft
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))
    options = {"num_virtual_tokens": 4} if name.startswith("Pr") else {"target_modules": ["c_attn"]}
    if name == "IA3Config":
        options["feedforward_modules"] = []
    if name == "AdaLoraConfig":
        options["total_step"] = 10
    if name in ("BOFTConfig",):
        options["boft_block_size"] = 4
    if name == "OFTConfig":
        options |= {"oft_block_size": 4, "r": 0}
    model = peft.get_peft_model(model, getattr(peft, name)(task_type="CAUSAL_LM", **options)).to(told.device)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    ids = torch.randint(0, 99, (2, 10)).to(told.device)
    for _ in range(3):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        told("loss", loss)


def sentence_model(told):
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers import models
    folder = tempfile.mkdtemp()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the a cat dog sat on mat ran far away house is red blue and".split()]
    with open(os.path.join(folder, "vocab.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words))
    config = transformers.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=len(words))
    transformers.BertModel(config).save_pretrained(folder)
    transformers.BertTokenizer(os.path.join(folder, "vocab.txt")).save_pretrained(folder)
    transformer = models.Transformer(folder)
    return SentenceTransformer(modules=[transformer, models.Pooling(32)], device=str(told.device))


def yolo_run(name, told):
    from ultralytics import RTDETR, YOLO
    model = (RTDETR if "rtdetr" in name else YOLO)(name).model.to(told.device)
    images = torch.rand(2, 3, 128, 128).to(told.device)
    model.eval()
    with torch.inference_mode():
        told("outputs", model(images))
    model.train()
    from program import mean_of
    loss = mean_of(model(images))
    loss.backward()
    told("loss", loss)
    told("gradients", [p.grad for p in model.parameters() if p.grad is not None][:30])


def run(name, told):
    kind, _, rest = name.partition(".")
    if kind == "lightning" and rest == "fabric":
        fabric_run(told)
    elif kind == "lightning":
        devices, _, precision = rest.partition(".")
        lightning_run(told, int(devices), precision or "32-true") if told.device.type == "cuda" or precision != "16-mixed" else \
            lightning_run(told, int(devices), "bf16-mixed")
    elif kind == "accelerate":
        accelerated(told, 2 if rest == "2" else 1, "bf16" if rest == "bf16" else "no")
    elif kind == "ignite":
        ignite_run(told)
    elif kind == "peft":
        peft_run(rest, told)
    elif kind == "yolo":
        yolo_run(rest, told)
    elif kind == "sentence":
        model = sentence_model(told)
        sentences = ["the cat sat on the mat", "a dog ran far away", "the house is red and blue"]
        if rest == "encode":
            told("embeddings", model.encode(sentences, convert_to_tensor=True, batch_size=2))
            told("similarity", model.similarity(*[model.encode(sentences)] * 2))
        else:
            from sentence_transformers import losses
            loss_of = losses.MultipleNegativesRankingLoss(model)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            features = [{key: value.to(told.device) for key, value in model.tokenize(part).items()} for part in (sentences, sentences[::-1])]
            for module in model.modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = 0.0
            for _ in range(3):
                loss = loss_of(features, None)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                told("loss", loss)
    else:
        import transformers
        config = transformers.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=99)
        model = transformers.BertForSequenceClassification(config)
        data = [{"input_ids": torch.randint(0, 99, (12,)), "labels": torch.tensor(i % 2)} for i in range(32)]
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=8, report_to=[], logging_steps=1, disable_tqdm=True,
                                                       save_strategy="no", eval_strategy="epoch")
            trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data)
            trainer.train()
            told("log", [entry.get("loss", entry.get("eval_loss")) for entry in trainer.state.log_history])
