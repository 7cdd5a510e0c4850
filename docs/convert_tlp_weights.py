#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns a PyTorch state dictionary of the authors' TLP or MTL-TLP into a weights file that augur::tlp::load reads.

In the authors' environment, where their classes can be unpickled:

    import pickle, torch
    net = pickle.load(open("tlp_model_43.pkl", "rb"))        # DataParallel or not
    torch.save(net.state_dict(), "tlp_model_43.pt")

then, anywhere (only Python's own library is needed, and nothing in the file is executed):

    convert_tlp_weights.py tlp_model_43.pt tlp_model_43.safetensors [--target cpu|gpu] [--rows L] [--columns E] [--attention-heads H]

The names and the orientation of the parameters stay as PyTorch has them; widths, backbone and the number of platforms are read off their shapes.
The file carries one input and the score that this script computes for it, and the reader refuses the file when it computes another one.
"""
import argparse
import array
import collections
import json
import math
import operator
import pickle
import struct
import sys
import zipfile

UNROLL = "auto_unroll_max_step$"
SCOPES = [["CHW", "local", 1], ["CHW", "shared", 2], ["CHW", "global", 3], ["CHR", "shared", 1]]
VOCABULARY = {  # the authors' tables, in the order of the columns
    "cpu": (["CI", "RE", "AN", "RF", "CHW", "SP", "CR", "CA", "FU", "FSP", "PR"], [16, 0, 512, 64], (25, 22)),
    "gpu": (["AN", "CHR", "CHW", "CI", "CA", "FFSP", "SP", "FU", "RE", "PR", "FSP"], [0, 16, 64, 1024, 512], (40, 20)),
}
Tensor = collections.namedtuple("Tensor", "shape values")  # values: array of floats, the last dimension runs fastest


def die(text):
    sys.exit("convert_tlp_weights: " + text)


# --- torch.save's file: a zip of a pickle and of one raw array for each storage


class StateReader(pickle.Unpickler):
    """Builds nothing but dictionaries and tensors."""

    CODES = {"FloatStorage": "f", "DoubleStorage": "d"}

    def __init__(self, archive, root):
        super().__init__(archive.open(root + "data.pkl"))
        self.archive, self.root = archive, root

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self.tensor
        if module == "torch" and name.endswith("Storage"):
            return name
        raise pickle.UnpicklingError(f"a state dictionary holds tensors only, this file has {module}.{name}: save net.state_dict()")

    def persistent_load(self, what):
        _, kind, key, _, _ = what
        if kind not in self.CODES:
            raise pickle.UnpicklingError(f"expected float32 or float64 parameters, got {kind}")
        values = array.array(self.CODES[kind], self.archive.read(f"{self.root}data/{key}"))
        if sys.byteorder != "little":
            values.byteswap()
        return values

    @staticmethod
    def tensor(storage, offset, shape, stride, *_):
        size, dense = 1, []
        for n in reversed(shape):
            dense.insert(0, size)
            size *= n
        if any(n > 1 and s != d for n, s, d in zip(shape, stride, dense)):
            raise pickle.UnpicklingError("a tensor that is not contiguous: call .contiguous() on it")
        return Tensor(list(shape), array.array("f", storage[offset : offset + size]))


def read_state(path):
    try:
        with zipfile.ZipFile(path) as archive:
            roots = [n[: -len("data.pkl")] for n in archive.namelist() if n.endswith("data.pkl")]
            if len(roots) != 1:
                die(f"'{path}': expected one data.pkl in the archive, got {len(roots)}")
            state = StateReader(archive, roots[0]).load()
    except (OSError, zipfile.BadZipFile, pickle.UnpicklingError, KeyError) as why:
        die(f"'{path}': {why}; expected what torch.save(net.state_dict(), path) writes")
    return {name[len("module.") :] if name.startswith("module.") else name: t for name, t in state.items()}


# --- the shape of the network


def stack(state, prefix):
    """The weights prefix + 0, 2, 4 ... of a torch.nn.Sequential of affine maps and activations."""
    layers = []
    while f"{prefix}{2 * len(layers)}.weight" in state:
        layers.append(f"{prefix}{2 * len(layers)}.")
    return layers


def config_of(state, attention_heads):
    lstm = "lstm.weight_ih_l0" in state
    encoder = stack(state, "lstm_linar_encoder." if lstm else "encoder.")
    if not encoder:
        die("no parameter 'encoder.0.weight' or 'lstm_linar_encoder.0.weight': not one of the authors' TLP networks")
    heads = []
    while stack(state, f"mtl_heads.{len(heads)}."):
        heads.append(stack(state, f"mtl_heads.{len(heads)}."))
    if len(heads) == 1:  # one platform is a plain TLP
        for layer in heads[0]:
            for leaf in ("weight", "bias"):
                state["decoder." + layer[len("mtl_heads.0.") :] + leaf] = state.pop(layer + leaf)
    decoders = heads if len(heads) > 1 else [stack(state, "decoder.")]
    if not decoders[0]:
        die("no parameter 'decoder.0.weight' or 'mtl_heads.0.0.weight'")
    block = "l{}.0." if lstm else "l_list.{}.0."
    blocks = []
    while block.format(len(blocks)) + "weight" in state:
        blocks.append(block.format(len(blocks)))
    rows_of = lambda layer: state[layer + "weight"].shape[0]
    config = {
        "columns": state[encoder[0] + "weight"].shape[1],
        "encoder": [rows_of(layer) for layer in encoder],
        "backbone": int(lstm),
        "attention_layers": 1,
        "heads": attention_heads,
        "residual_blocks": len(blocks),
        "decoder": [rows_of(layer) for layer in decoders[0][:-1]],
        "outputs": len(decoders),
        "scaling": 0,
        "dead_layer": int(not lstm and "l0.0.weight" in state),
    }
    known = set()
    for layer in encoder + blocks + [layer for d in decoders for layer in d] + (["l0.0."] if config["dead_layer"] else []):
        known |= {layer + "weight", layer + "bias"}
    known |= {n for n in state if n.startswith("lstm." if lstm else "attention.")}
    if set(state) != known:
        die("parameters that no TLP network has: " + ", ".join(sorted(set(state) ^ known)))
    return config, encoder, blocks, decoders


# --- the network once more, for the known score


def affine(state, layer, x, bias="bias", weight="weight"):
    w, b = state[layer + weight], state[layer + bias]
    n = w.shape[1]
    matrix = [w.values[o * n : (o + 1) * n] for o in range(w.shape[0])]
    return [[sum(map(operator.mul, row, m), b0) for m, b0 in zip(matrix, b.values)] for row in x]


def relu(x):
    return [[max(v, 0.0) for v in row] for row in x]


def attention(state, x, heads):
    d = len(x[0])
    qkv = affine(state, "attention.", x, "in_proj_bias", "in_proj_weight")
    width = d // heads
    context = [[] for _ in x]
    for h in range(heads):
        q, k, v = ([row[part * d + h * width : part * d + (h + 1) * width] for row in qkv] for part in range(3))
        for i, query in enumerate(q):
            s = [sum(map(operator.mul, query, key)) / math.sqrt(width) for key in k]
            e = [math.exp(a - max(s)) for a in s]
            context[i] += [sum(p * row[c] for p, row in zip(e, v)) / sum(e) for c in range(width)]
    return affine(state, "attention.out_proj.", context)


def lstm(state, x):
    d = len(state["lstm.weight_hh_l0"].values) // len(state["lstm.bias_hh_l0"].values)
    sigmoid = lambda a: 1 / (1 + math.exp(-a)) if a > -700 else 0.0
    h, c = [0.0] * d, [0.0] * d
    for row in affine(state, "lstm.", x, "bias_ih_l0", "weight_ih_l0"):
        z = list(map(operator.add, row, affine(state, "lstm.", [h], "bias_hh_l0", "weight_hh_l0")[0]))
        i, f, g, o = z[:d], z[d : 2 * d], z[2 * d : 3 * d], z[3 * d :]
        c = [sigmoid(b) * old + sigmoid(a) * math.tanh(n) for a, b, n, old in zip(i, f, g, c)]
        h = [sigmoid(a) * math.tanh(cell) for a, cell in zip(o, c)]
    return [h]


def scores(state, config, encoder, blocks, decoders, rows):
    x = rows
    for layer in encoder:
        x = relu(affine(state, layer, x))
    if config["backbone"]:
        x = lstm(state, x)
    else:
        x = [list(map(operator.add, a, b)) for a, b in zip(attention(state, x, config["heads"]), x)]
    for block in blocks:
        x = [list(map(operator.add, a, b)) for a, b in zip(relu(affine(state, block, x)), x)]
    out = []
    for decoder in decoders:
        y = x
        for layer in decoder[:-1]:
            y = relu(affine(state, layer, y))
        out.append(sum(row[0] for row in affine(state, decoder[-1], y)))
    return out


# --- safetensors


def write(path, metadata, tensors):
    header, at = {"__metadata__": metadata}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": t.shape, "data_offsets": [at, at + 4 * len(t.values)]}
        at += 4 * len(t.values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            values = array.array("f", t.values)
            if sys.byteorder != "little":
                values.byteswap()
            file.write(values.tobytes())


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("state")
    args.add_argument("out")
    args.add_argument("--target", choices=sorted(VOCABULARY), default="cpu", help="whose vocabulary the network was trained with")
    args.add_argument("--rows", type=int, help="crop: primitives of a schedule (25 for cpu, 40 for gpu)")
    args.add_argument("--columns", type=int, help="crop: width of a row (22, 20)")
    args.add_argument("--attention-heads", type=int, default=8, help="no shape tells them")
    args = args.parse_args()

    kinds, unrolls, (rows, columns) = VOCABULARY[args.target]
    schema = {
        "name": "authors-" + args.target,
        "kinds": kinds,
        "words": [["PR", UNROLL + str(n), i + 1] for i, n in enumerate(unrolls)] + SCOPES,
        "kind_columns": len(kinds),
        "rows": args.rows or rows,
        "columns": args.columns or columns,
        "positions": 0,
        "unknown": 0,
        "pad": 1,
    }
    state = read_state(args.state)
    config, encoder, blocks, decoders = config_of(state, args.attention_heads)
    if config["columns"] != schema["columns"]:
        die(f"the network reads rows of {config['columns']} numbers, the crop has {schema['columns']}: say --columns")
    for name, t in state.items():
        if not all(map(math.isfinite, t.values)):
            die(f"'{name}' has a number that is not finite")

    probe = [[0.0] * schema["columns"] for _ in range(min(schema["rows"], 8))]
    for r, row in enumerate(probe):
        row[r % len(row)] = 1.0
        for c in range(len(kinds), len(row)):
            row[c] = float((r + 3 * c) % 17)
    score = sum(scores(state, config, encoder, blocks, decoders, probe))
    metadata = {
        "format": "augur-tlp",
        "version": "1",
        "schema": json.dumps(schema),
        "config": json.dumps(config),
        "probe_score": repr(score),
    }
    tensors = {"probe.rows": Tensor([len(probe), len(probe[0])], [v for row in probe for v in row]), **state}
    write(args.out, metadata, tensors)
    print(f"{args.out}: {sum(len(t.values) for t in state.values())} parameters, {config['outputs']} output(s), known score {score:.6g}")


if __name__ == "__main__":
    main()
