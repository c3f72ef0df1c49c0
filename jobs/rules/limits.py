"""The bounds of the fields, and the choices that are codes."""

from jobs.spec import MOST_CUSTOM_GPUS as MOST_CUSTOM_GPUS
from jobs.spec import MOST_WORKERS as MOST_WORKERS

JOB_TYPES = ("training",)
RESOURCE_TYPES = ("prepaid",)
START_POLICIES = ("queue", "now")
HANG_ACTIONS = ("notify", "restart", "fail")
UNITS = ("seconds", "minutes")
MOST_COMMAND_BYTES = 256 * 2**10
MOST_VARIABLES = 200
MOST_VARIABLE_NAME = 255
MOST_VALUE_BYTES = 32 * 2**10
MOST_ENV_BYTES = 256 * 2**10
MOST_MOUNTS = 64
MOST_ALERTS = 20
MOST_NAME = 128
MOST_DESCRIPTION = 2000
MOST_TAGS = 20
MOST_TAG = 63
MOST_GRACE_SECONDS = 3600
LOST_GRACE_SECONDS = 5  # on a node that is down, which may be reached no more
MOST_KEPT_MINUTES = 24 * 60
MOST_RESTARTS = 10
LEAST_HANG_SECONDS = 30
HUNG_AFTER = 2  # times the silence that is suspect is a hang
MOST_HANG_SECONDS = 7 * 24 * 3600
MOST_MINUTES = 366 * 24 * 60
MOST_PATH_BYTES = 1000
MOST_NAME_BYTES = 255
