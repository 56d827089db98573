# RUN: %status 0 %sim --fail-on=warning -- %python %s 2>&1 | %file_check
import torch
import torch.multiprocessing


class Divided(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4).to("cuda:0")
        self.second = torch.nn.Linear(4, 2).to("cuda:1")

    def forward(self, x):
        return self.second(self.first(x).to("cuda:1"))


def rank(index):
    torch.cuda.set_device(index)
    torch.nn.Linear(4, 2).cuda()(torch.ones(3, 4, device="cuda")).sum().backward()
    torch.cuda.Stream()


if __name__ == "__main__":
    Divided()(torch.ones(3, 4, device="cuda:0")).sum().backward()
    torch.cuda.get_device_properties(0)
    with torch.cuda.device(1):
        torch.ones(3, device="cuda")
    torch.multiprocessing.spawn(rank, nprocs=2)
# CHECK: no findings
