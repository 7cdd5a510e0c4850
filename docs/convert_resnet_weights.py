#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of a torchvision ResNet or ResNeXt for `tune --parameters`.

    convert_resnet_weights.py STATE.pt OUT.safetensors [IMAGE.pt]

STATE.pt is what torch.save(model.state_dict(), ..) writes. Batch normalisations are folded into the convolutions before them, filters go from (F,C,K,K) to
(K,K,C,F). IMAGE.pt is a tensor (1,C,H,W) that the model would get; it becomes the tensor `input` in NHWC. Needs PyTorch.
"""
import json
import struct
import sys

import torch

EPSILON = 1e-5  # of torch.nn.BatchNorm2d


def normalisation_of(convolution):
    """conv1 -> bn1, layer1.0.conv2 -> layer1.0.bn2, layer2.0.downsample.0 -> layer2.0.downsample.1"""
    head, dot, last = convolution.rpartition(".")
    return head + dot + (last.replace("conv", "bn") if last.startswith("conv") else "1")


def converted(state):
    out = {}
    for name, value in state.items():
        module, _, kind = name.rpartition(".")
        if kind != "weight" or value.dim() == 1:
            continue
        value = value.double()
        if value.dim() == 2:
            out[module + ".weight"] = value
            out[module + ".bias"] = state[module + ".bias"].double()
            continue
        norm = normalisation_of(module)
        get = lambda part: state[norm + "." + part].double()
        scale = get("weight") / torch.sqrt(get("running_var") + EPSILON)
        module = module[:-2] if module.endswith("downsample.0") else module
        out[module + ".weight"] = (value * scale[:, None, None, None]).permute(2, 3, 1, 0)
        out[module + ".bias"] = get("bias") - get("running_mean") * scale
    return out


def write(path, tensors):
    header, blocks, at = {}, [], 0
    for name, value in sorted(tensors.items()):
        data = value.float().contiguous().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        blocks.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(blocks)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    tensors = converted(torch.load(arguments[0], map_location="cpu"))
    if len(arguments) == 3:
        tensors["input"] = torch.load(arguments[2], map_location="cpu").permute(0, 2, 3, 1)
    write(arguments[1], tensors)


if __name__ == "__main__":
    main(sys.argv[1:])
