# What PyTorch's own host code does with device tensors is no access, whatever else it costs.
# RUN: echo 'device-host-sync = "*"' > %t.toml
# RUN: echo 'device-implicit-transfer = "*"' >> %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python -W ignore %s 2>&1 | %file_check
# CHECK: no findings
import copy
import io
import pickle

import torch

torch.cuda.set_device(1)  # DLPack wants the tensor's device to be current
x = torch.arange(6.0).to("cuda:1").view(2, 3)
print(x, x.tolist(), x[0, 1].item(), x.storage()[2], x.untyped_storage()[4], x.untyped_storage().tolist()[:4])
repr(x.to_sparse()), str(torch.nn.Linear(2, 2).cuda())
file = io.BytesIO()
torch.save({"x": x, "model": torch.nn.Linear(2, 2).cuda().state_dict()}, file)
file.seek(0)
assert torch.load(file)["x"].equal(x)
file = io.BytesIO()
torch.save(x, file, _use_new_zipfile_serialization=False)
file.seek(0)
assert torch.load(file).equal(x)
assert copy.deepcopy(x).equal(x) and pickle.loads(pickle.dumps(x)).equal(x)
assert torch.from_dlpack(x).equal(x) and torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).equal(x)
assert torch.as_tensor(x.cpu().numpy(), device=x.device).equal(x)
try:
    x.numpy()
except TypeError as error:
    print(error)
x.untyped_storage().resize_(4096)
x.untyped_storage().fill_(0)
x.untyped_storage().copy_(torch.ones(4096, dtype=torch.uint8).untyped_storage())
x.data_ptr(), x.untyped_storage().data_ptr(), hash(x), id(x)
torch.quantize_per_channel(
    torch.rand(2, 3, device="cuda"), torch.tensor([0.1, 0.2]).cuda(), torch.tensor([1, 2]).cuda(), 0, torch.quint8
).dequantize()
data = torch.utils.data.TensorDataset(torch.arange(6.0))
for (batch,) in torch.utils.data.DataLoader(data, batch_size=3, num_workers=1, pin_memory=True):
    batch.to(x.device, non_blocking=True).sum().item()
