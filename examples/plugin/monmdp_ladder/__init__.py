"""Example plug-in for monmdp."""
