"""Where: zones, pools, flavors, specs, nodes and holds, and the arithmetic on them."""
