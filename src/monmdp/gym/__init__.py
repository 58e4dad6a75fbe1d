"""Mon-MDPs as Gymnasium environments."""

from monmdp.gym.registration import register_all
from monmdp.gym.single import MonitoredEnv
from monmdp.gym.vector import MonitoredVectorEnv
from monmdp.gym.wrappers import FlattenDiscrete

__all__ = ["FlattenDiscrete", "MonitoredEnv", "MonitoredVectorEnv", "register_all"]
