"""Finished results for other people's viewers: TensorBoard and Weights & Biases. Nothing here runs while training."""

from monmdp.export.runs import RunCurve, runs_of
from monmdp.export.tensorboard import to_tensorboard
from monmdp.export.wandb import to_wandb

__all__ = ["RunCurve", "runs_of", "to_tensorboard", "to_wandb"]
