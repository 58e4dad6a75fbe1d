"""Finished results for other people's viewers: TensorBoard and Weights & Biases. Nothing here runs while training."""

from monmdp.study.export.runs import RunCurve, runs_of
from monmdp.study.export.tensorboard import to_tensorboard
from monmdp.study.export.wandb import to_wandb

__all__ = ["RunCurve", "runs_of", "to_tensorboard", "to_wandb"]
