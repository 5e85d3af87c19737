"""One rank of a PyTorch training of the GPT that rondo-train trains (examples/train_gpt/gpt.h).

The same tensors, layers, loss, optimizer and batches of bytes; PyTorch's own modules and fastest
kernels for them: scaled_dot_product_attention, the fused AdamW. Rank and size come from RANK and
WORLD_SIZE, as from a launcher. Prints one line of JSON in the end.
"""

import argparse
import contextlib
import json
import math
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

VOCABULARY = 256
DEVIATION = 0.02


class Block(nn.Module):
    """x += attention(norm(x)); x += mlp(norm(x))."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sequences, length, width = x.shape
        q, k, v = (part.view(sequences, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(sequences, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Gives the mean cross entropy of a batch."""

    def __init__(self, layers: int, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue  # gains are 1; biases follow
            into_residual = name.endswith(("out.weight", "down.weight"))
            nn.init.normal_(parameter, std=DEVIATION / math.sqrt(2 * layers) if into_residual
                            else DEVIATION)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


class Batches:
    """Sequences of a text's bytes, drawn at random; another part of them for each rank."""

    def __init__(self, path: str, context: int, sequences: int, seed: int) -> None:
        with open(path, "rb") as file:
            self.text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).long()
        self.random = torch.Generator().manual_seed(seed)
        self.offsets = torch.arange(context)
        self.sequences = sequences

    def next(self):
        last = (len(self.text) - 1) // len(self.offsets)
        starts = torch.randint(last, (self.sequences, 1), generator=self.random) * len(self.offsets)
        return self.text[starts + self.offsets], self.text[starts + self.offsets + 1]


def parallel_model(model: Gpt, parallel: str) -> nn.Module:
    if parallel in ("ddp", "zero1"):
        return DistributedDataParallel(model, gradient_as_bucket_view=True)
    if parallel in ("fsdp", "fsdp-kept"):
        kept = parallel == "fsdp-kept"  # parameters stay gathered between forward and backward
        mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
        for block in model.blocks:
            fully_shard(block, mesh=mesh, reshard_after_forward=not kept)
        fully_shard(model, mesh=mesh, reshard_after_forward=not kept)
    return model


def make_optimizer(model: nn.Module, arguments: argparse.Namespace):
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    settings = {"lr": arguments.lr, "betas": (0.9, 0.95), "eps": 1e-8, "fused": True}
    if arguments.parallel == "zero1":
        optimizer = ZeroRedundancyOptimizer(groups[0]["params"], torch.optim.AdamW,
                                            weight_decay=0.1, **settings)
        optimizer.add_param_group(groups[1])
        return optimizer
    return torch.optim.AdamW(groups, **settings)


def rate(arguments: argparse.Namespace, step: int) -> float:
    """A warm-up, then a cosine down to a tenth, as rondo-train's."""
    if step < arguments.warmup:
        return arguments.lr * (step + 1) / arguments.warmup
    done = (step - arguments.warmup) / max(1, arguments.steps - arguments.warmup)
    return arguments.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


def train(arguments: argparse.Namespace) -> dict:
    torch.manual_seed(1)
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpt = Gpt(arguments.layers, arguments.width, arguments.heads, arguments.context)
    count = sum(p.numel() for p in gpt.parameters())
    model = parallel_model(gpt, arguments.parallel)
    optimizer = make_optimizer(model, arguments)
    batches = Batches(arguments.data, arguments.context, arguments.batch, 1 + rank)
    seconds, losses = [], []
    for step in range(arguments.steps):
        begin = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(arguments, step)
        loss = model(*batches.next())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    return {"rank": rank, "ranks": ranks, "parameters": count, "seconds": seconds,
            "losses": losses, "torch": torch.__version__}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", default="ddp",
                        choices=["alone", "ddp", "zero1", "fsdp", "fsdp-kept"],
                        help="alone: ranks know nothing of each other")
    for name, value in (("layers", 4), ("width", 128), ("heads", 4), ("context", 64), ("batch", 4),
                        ("steps", 200), ("warmup", 20)):
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    parser.add_argument("--lr", type=float, default=2e-3, help="default: %(default)s")
    parser.add_argument("--data", required=True, help="a file, whose bytes are the tokens")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        if arguments.parallel != "alone":
            dist.init_process_group("gloo")
            stack.callback(dist.destroy_process_group)
        result = train(arguments)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
