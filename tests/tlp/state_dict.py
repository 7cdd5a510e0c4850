# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""state_dict.py PARAMETERS OUT [PREFIX]: packs raw parameters as torch.save(state_dict, OUT) does, without torch.

PARAMETERS holds, for each parameter, a line "name dim dim ..." and then its floats (little-endian, as torch has them in memory).
"""
import collections
import io
import pickle
import sys
import types
import zipfile

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules["torch"], sys.modules["torch._utils"] = torch, utils
FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
torch.FloatStorage = FloatStorage


def _rebuild_tensor_v2(*_):
    raise NotImplementedError


_rebuild_tensor_v2.__module__ = "torch._utils"
utils._rebuild_tensor_v2 = _rebuild_tensor_v2


class Storage:
    def __init__(self, key, bytes_):
        self.key, self.bytes = key, bytes_


class Tensor:
    def __init__(self, storage, shape):
        self.storage, self.shape = storage, shape

    def __reduce__(self):
        stride = [1] * len(self.shape)
        for i in range(len(stride) - 1, 0, -1):
            stride[i - 1] = stride[i] * self.shape[i]
        return _rebuild_tensor_v2, (self.storage, 0, self.shape, tuple(stride), False, collections.OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, Storage):
            return ("storage", FloatStorage, obj.key, "cpu", len(obj.bytes) // 4)
        return None


state = collections.OrderedDict()
prefix = sys.argv[3] if len(sys.argv) > 3 else ""
with open(sys.argv[1], "rb") as file:
    while line := file.readline():
        name, *dims = line.decode().split()
        shape = tuple(map(int, dims))
        size = 4
        for n in shape:
            size *= n
        state[prefix + name] = Tensor(Storage(str(len(state)), file.read(size)), shape)
        assert file.read(1) == b"\n"
state._metadata = collections.OrderedDict({"": {"version": 1}})  # as torch leaves it there
text = io.BytesIO()
Pickler(text, protocol=2).dump(state)
with zipfile.ZipFile(sys.argv[2], "w") as archive:
    archive.writestr("archive/data.pkl", text.getvalue())
    for tensor in state.values():
        archive.writestr("archive/data/" + tensor.storage.key, tensor.storage.bytes)
    archive.writestr("archive/version", "3\n")
