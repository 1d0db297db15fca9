"""What PyTorch on Kaggle's machines trips over is told with the remedy and where it comes from."""

import pytest

from kernelkit.push.checks.pytorch import pytorch
from kernelkit.push.plan import plan_push
from kernelkit.push.request import PushRequest

HEAD = "import os, torch_xla\nimport torch_xla.core.xla_model as xm\n"
SPAWN = "import torch_xla.distributed.xla_multiprocessing as xmp\n"
POP = "os.environ.pop('TPU_PROCESS_ADDRESSES', None)\n"


def told(repository, *cells, accelerator="tpu"):
    repository.sources(*cells)
    made = plan_push(PushRequest.of(metadata=repository.metadata, accelerator=accelerator))
    return [finding.text for finding in pytorch(made)]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [HEAD + POP + "device = xm.xla_device()", "torch_xla.launch(f, start_method='fork')"],
            "asked for the device",
        ),
        ([HEAD + POP + SPAWN + "xmp.spawn(f)"], 'start_method="fork"'),
        ([HEAD + "torch_xla.launch(f, start_method='fork')"], "TPU_PROCESS_ADDRESSES"),
        ([HEAD + "scaler = torch.cuda.amp.GradScaler()"], "bfloat16 without one"),
        ([HEAD + "model.to(torch.float16)"], "torch.bfloat16"),
        ([HEAD + "model = model.half()"], "torch.bfloat16"),
        (["import torch\nopen('/kaggle/temp/x', 'w')"], "os.makedirs"),
        (["import torch\nopen('/kaggle/temp/x')", "open('/kaggle/temp/y')"], "(and cell 2)"),
        (["from torch_xla import launch as go\n" + POP + "go(f)"], 'start_method="fork"'),
        (
            [
                POP + "from torch_xla.core.xla_model import xla_device\nd = xla_device()",
                "import torch_xla.distributed.xla_multiprocessing as m\n"
                "m.spawn(f, start_method='fork')",
            ],
            "asked for the device",
        ),
    ],
)
def test_what_fails_on_a_tpu_is_told(repository, cells, words):
    (text,) = told(repository, *cells)
    assert words in text


def test_a_launcher_after_cuda_is_told_on_a_gpu(repository):
    cells = "import torch\nx = torch.zeros(1).cuda()", "notebook_launcher(f, num_processes=2)"
    (text,) = told(
        repository, "from accelerate import notebook_launcher", *cells, accelerator="gpu"
    )
    assert "[cell 2] used CUDA" in text


@pytest.mark.parametrize(
    "cells",
    [
        [
            HEAD
            + POP
            + "def f(i):\n    return xm.xla_device()\ntorch_xla.launch(f, start_method='fork')"
        ],
        ["print('GradScaler')"],
        [HEAD + "device = xm.xla_device()\nmodel.to(device, dtype=torch.bfloat16)"],
        ["import torch, os\nos.makedirs('/kaggle/temp', exist_ok=True)\nopen('/kaggle/temp/x')"],
        ["import torch\n!mkdir -p /kaggle/temp/a", "open('/kaggle/temp/a/x')"],
        [HEAD + "# not torch.float16\nx = 1"],
    ],
)
def test_what_runs_is_left_alone(repository, cells):
    assert told(repository, *cells) == []
