#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tests/vectors/gpt2_2x64.safetensors with PyTorch (Debian: python3-torch): the logits, loss, gradients and three AdamW steps of a GPT-2.

usage: tests/tlm/gpt2_vectors.py tests/vectors/gpt2_2x64.safetensors

The weights follow a formula that the test computes, too; everything here is in double precision and stored as float.
"""
import json
import struct
import sys

import torch

torch.set_default_dtype(torch.float64)
V, P, L, D, H, F = 40, 16, 2, 64, 4, 256
SENTENCES = [  # tokens, of which the first so many are the prompt
    ([2, 11, 7, 30, 8, 9, 10, 39, 12, 13, 5, 3], 5),
    ([2, 21, 7, 17, 39, 39, 20, 8, 3], 3),
]


def names():
    yield "wte.weight", (V, D)
    yield "wpe.weight", (P, D)
    for i in range(L):
        h = f"h.{i}."
        yield h + "ln_1.weight", (D,)
        yield h + "ln_1.bias", (D,)
        yield h + "attn.c_attn.weight", (D, 3 * D)
        yield h + "attn.c_attn.bias", (3 * D,)
        yield h + "attn.c_proj.weight", (D, D)
        yield h + "attn.c_proj.bias", (D,)
        yield h + "ln_2.weight", (D,)
        yield h + "ln_2.bias", (D,)
        yield h + "mlp.c_fc.weight", (D, F)
        yield h + "mlp.c_fc.bias", (F,)
        yield h + "mlp.c_proj.weight", (F, D)
        yield h + "mlp.c_proj.bias", (D,)
    yield "ln_f.weight", (D,)
    yield "ln_f.bias", (D,)


def weights():
    out = {}
    for k, (name, shape) in enumerate(names()):
        n = 1
        for s in shape:
            n *= s
        wave = 0.1 * torch.sin(0.7 * torch.arange(n) + k) + 0.05 * torch.sin(1.3 * torch.arange(n) * (k + 1))
        if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")):
            wave = 1 + wave
        out[name] = wave.reshape(shape).clone().requires_grad_(True)
    return out


def logits(w, ids):
    t = len(ids)
    x = w["wte.weight"][ids] + w["wpe.weight"][:t]
    mask = torch.full((t, t), float("-inf")).triu(1)
    for i in range(L):
        h = f"h.{i}."
        a = torch.nn.functional.layer_norm(x, (D,), w[h + "ln_1.weight"], w[h + "ln_1.bias"], 1e-5)
        qkv = a @ w[h + "attn.c_attn.weight"] + w[h + "attn.c_attn.bias"]
        q, k, v = (part.reshape(t, H, D // H).transpose(0, 1) for part in qkv.split(D, 1))
        p = torch.softmax(q @ k.transpose(1, 2) / (D // H) ** 0.5 + mask, -1)
        c = (p @ v).transpose(0, 1).reshape(t, D)
        x = x + c @ w[h + "attn.c_proj.weight"] + w[h + "attn.c_proj.bias"]
        a = torch.nn.functional.layer_norm(x, (D,), w[h + "ln_2.weight"], w[h + "ln_2.bias"], 1e-5)
        a = torch.nn.functional.gelu(a @ w[h + "mlp.c_fc.weight"] + w[h + "mlp.c_fc.bias"], approximate="tanh")
        x = x + a @ w[h + "mlp.c_proj.weight"] + w[h + "mlp.c_proj.bias"]
    return torch.nn.functional.layer_norm(x, (D,), w["ln_f.weight"], w["ln_f.bias"], 1e-5) @ w["wte.weight"].T


def loss_of(w):
    total, n = 0, 0
    for ids, prompt in SENTENCES:
        y = logits(w, ids[:-1])
        total = total + torch.nn.functional.cross_entropy(y[prompt - 1:], torch.tensor(ids[prompt:]), reduction="sum")
        n += len(ids) - prompt
    return total / n


def main(path):
    out = {}
    w = weights()
    for i, (ids, _) in enumerate(SENTENCES):
        out[f"logits.{i}"] = logits(w, ids)
    optimiser = torch.optim.AdamW(list(w.values()), lr=1e-3, weight_decay=0)
    losses = []
    for step in range(3):
        optimiser.zero_grad()
        loss = loss_of(w)
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            for name, p in w.items():
                out["gradient." + name] = p.grad.clone()
        optimiser.step()
    losses.append(loss_of(w))
    out["losses"] = torch.stack([l.detach() for l in losses])
    for name, p in w.items():
        out["stepped." + name] = p
    header, data = {"__metadata__": {"made_by": "tests/tlm/gpt2_vectors.py, torch " + torch.__version__}}, b""
    for name, x in out.items():
        values = x.detach().reshape(-1).float().tolist()
        bytes_ = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
        data += bytes_
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main(sys.argv[1])
