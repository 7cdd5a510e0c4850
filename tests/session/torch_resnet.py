# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A small residual network by PyTorch: torch_resnet.py STATE.pt IMAGE.pt OUTPUT, the last one as float32.
import sys

import torch
from torch import nn


class block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(block(8, 8, 1))
        self.layer2 = nn.Sequential(block(8, 16, 2))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layer2(self.layer1(x)).mean((2, 3)))


torch.manual_seed(5)
model = network().eval()
for module in model.modules():
    if isinstance(module, nn.BatchNorm2d):  # as if it had been trained
        module.running_mean.uniform_(-0.5, 0.5)
        module.running_var.uniform_(0.5, 2)
        nn.init.uniform_(module.weight, 0.5, 2)
        nn.init.uniform_(module.bias, -0.5, 0.5)
image = torch.rand(1, 3, 32, 32) * 4 - 2
with torch.no_grad():
    output = model(image)
torch.save(model.state_dict(), sys.argv[1])
torch.save(image, sys.argv[2])
with open(sys.argv[3], "wb") as file:
    file.write(output.numpy().astype("<f4").tobytes())
