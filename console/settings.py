"""All settings, read from the environment once. Times are seconds, sizes bytes, unless the name says else."""

import os
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from console import secret_files

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env.ENVIRON = {name: value for name, value in os.environ.items() if value}  # empty is not set

DATA_DIR = Path(env.str("DATA_DIR", str(BASE_DIR / "var"))).resolve()
DEBUG = env.bool("DEBUG", False)
DEMO = env.bool("DEMO", True)  # demo users may exist; production says DEMO=0
PRODUCTION = env.bool("PRODUCTION", False)
DEMO_EXAMPLE = "volumes/public"  # folder of DATA_DIR, a volume on which the demo puts its example

secret_files.ensure(DATA_DIR)
SECRET_KEY = env.str("SECRET_KEY", "") or secret_files.read(DATA_DIR, "django_secret_key")
FERNET_KEYS = (env.str("FERNET_KEYS", "") or secret_files.read(DATA_DIR, "fernet_keys")).split()

if PRODUCTION and (DEBUG or DEMO):
    raise ImproperlyConfigured("PRODUCTION=1 goes with DEBUG=0 and DEMO=0")

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# Bytes apart from pages: a second server, of console.files_settings, sends what people download.
FILES_URL = (env.str("FILES_URL", "") or f"http://127.0.0.1:{env.int('PORT', 8000) + 1}").rstrip("/")
FILES_URLCONF = "console.files_urls"
DOWNLOAD_SECONDS = env.int("DOWNLOAD_SECONDS", 600)  # so long a signed address can be opened

INSTALLED_APPS = [
    "console",
    "runs",
    "jobs",
    "images",
    "storage",
    "pools",
    "alerts",
    "teams",
    "axes",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "drf_standardized_errors",
    "rest_framework",
    "template_partials",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "console.middleware.NoNulCharacters",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.views.protection",
                "teams.pages.frame",
                "alerts.pages.bell",
            ],
        },
    },
]

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA_DIR / "db.sqlite3")}
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.db_url("DATABASE_URL") if env.str("DATABASE_URL", "") else SQLITE
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE takes the write lock at BEGIN, so two writers wait instead of failing half-way.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
    }
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"].setdefault("CONN_HEALTH_CHECKS", True)
    # `pools.prepared` has its statements prepared whatever the number is; None forbids it.
    DATABASES["default"].setdefault("OPTIONS", {})["prepare_threshold"] = (
        2**31 if env.bool("DATABASE_PREPARE", True) else None
    )
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = LOGIN_URL
AXES_FAILURE_LIMIT = 20
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "draft"]  # what is not kept of a failed sign-in

if env.bool("BEHIND_PROXY", False):  # one that sets these headers itself, whatever a client sends
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    AXES_CLIENT_IP_CALLABLE = "console.proxy.client_address"

CSRF_FAILURE_VIEW = "console.sign_in.csrf_failed"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("HTTPS", False)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "EXCLUDE_URL_PREFIXES": ["/admin/", "/api/docs/"],  # both bring inline styles of their own
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    },
}

LANGUAGE_CODE = "en"
LANGUAGES = [("zh-hans", _("Chinese")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = env.str("TIME_ZONE", "UTC")
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True  # a page finds its files also before collectstatic
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "teams.rest_defaults.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["teams.rest_defaults.JsonParser"],
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "drf_standardized_errors.handler.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
DRF_STANDARDIZED_ERRORS = {
    "EXCEPTION_HANDLER_CLASS": "teams.rest.ErrorHandler",
    "EXCEPTION_FORMATTER_CLASS": "teams.rest.ErrorFormatter",
    "ENABLE_IN_DEBUG_FOR_UNHANDLED_EXCEPTIONS": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Trainyard",
    "DESCRIPTION": "Submit training jobs to the GPU pools of your team.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "JobState": "jobs.models.STATE_LABELS",
        "NodeState": "pools.models.NodeState",
        "OriginKind": "jobs.models.ORIGIN_LABELS",
        "PathCheckState": "runs.models.CHECK_STATES",
        "PathKind": "runs.path_check.values.Kind",
        "ChannelKind": "alerts.models.KIND_LABELS",
        "DeliveryState": "alerts.models.STATE_LABELS",
        "Language": "alerts.serializers.LANGUAGES",
        "JobAlertEvent": "jobs.rules.alerts.EVENTS",
        "AdminEvent": "alerts.serializers.ADMIN_EVENTS",
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20  # well above what the rules allow, so that they can say what is wrong
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
API_TOKEN_DAYS = env.int("API_TOKEN_DAYS", 90)

# Celery: results are ignored, hints may be lost, late acknowledgement never matters: the tick repairs.
REDIS_URL = env.str("REDIS_URL", "redis://127.0.0.1:6379/0")
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_connect_timeout": 2,
    "socket_timeout": 5,
    "max_retries": 1,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for Redis for as long as it takes
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "state"
CELERY_TASK_ROUTES = {
    "*.tasks.slow_*": {"queue": "slow"},
    "runs.tasks.engine_*": {"queue": "engine"},
    "jobs.tasks.*": {"queue": "state"},
}
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
TICK_SECONDS = env.float("TICK_SECONDS", 1.0)
UPKEEP_SECONDS = env.float("UPKEEP_SECONDS", 60.0)
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": seconds, "options": {"expires": seconds, "queue": queue}}
    for name, task, queue, seconds in [
        ("queue", "jobs.tasks.queue_tick", "state", TICK_SECONDS),
        ("notices", "jobs.tasks.notices_tick", "state", TICK_SECONDS),
        ("engine", "runs.tasks.engine_tick", "engine", TICK_SECONDS),
        ("path-checks", "runs.tasks.engine_path_checks", "engine", TICK_SECONDS),
        ("stacks", "runs.tasks.engine_stacks", "engine", TICK_SECONDS),
        ("kept-files", "runs.tasks.engine_kept_files", "engine", TICK_SECONDS),
        ("deliveries", "alerts.tasks.slow_deliver", "slow", TICK_SECONDS),
        ("upkeep", "runs.tasks.slow_upkeep", "slow", UPKEEP_SECONDS),
    ]
}

# Engine
RUNS_DIR = DATA_DIR / "runs"
SANDBOX = env.str("SANDBOX", "auto")
WORKER_CGROUP = env.str(
    "WORKER_CGROUP", "auto"
)  # off, auto, or the path of a control group given to the console
KEPT_FREE_PERCENT = env.int("KEPT_FREE_PERCENT", 10)  # files kept after a failure go early below so much room
RESTART_PAUSE_SECONDS = env.float("RESTART_PAUSE_SECONDS", 10.0)  # before the first automatic restart,
LONGEST_RESTART_PAUSE_SECONDS = 300.0  # doubled before each further one up to this
DEPLOY_STEP_SECONDS = {  # how long a deploy step may last before its attempt is ended
    "allocate": env.float("ALLOCATE_SECONDS", 300.0),
    "storage": env.float("STORAGE_SECONDS", 120.0),
    "initialize": env.float("INITIALIZE_SECONDS", 300.0),
    "pull_image": env.float("PULL_IMAGE_SECONDS", 1800.0),
}
ENV_CHECK_SECONDS = env.float("ENV_CHECK_SECONDS", 300.0)  # how long the check may take in each Worker
ENGINE_PATIENCE_SECONDS = 300  # how long an attempt waits for an engine that cannot start it
PATH_CHECK_SECONDS = 20.0  # how long a path check may run
PORTS = range(env.int("FIRST_PORT", 29500), env.int("FIRST_PORT", 29500) + 2000)

# Alerts
ALERT_SECONDS = env.float("ALERT_SECONDS", 10.0)  # for one try of a delivery, from the name to the last byte
ALERT_LEASE_SECONDS = env.float("ALERT_LEASE_SECONDS", 60.0)  # a try that was not settled is repeated then
if ALERT_LEASE_SECONDS <= ALERT_SECONDS:
    raise ImproperlyConfigured("ALERT_LEASE_SECONDS has to be more than ALERT_SECONDS")
ALERT_APPRISE = env.bool("ALERT_APPRISE", False)
ALERT_CA_FILE = env.str("ALERT_CA_FILE", "")  # certificates that are trusted besides the system's
try:
    ALERT_ALLOWED_NETWORKS = [
        ip_network(network) for network in env.list("ALERT_ALLOWED_NETWORKS", default=[])
    ]
except ValueError as wrong:
    raise ImproperlyConfigured(f"ALERT_ALLOWED_NETWORKS: {wrong}") from None
CONSOLE_URL = (env.str("CONSOLE_URL", "") or f"http://127.0.0.1:{env.int('PORT', 8000)}").rstrip("/")
if not CONSOLE_URL.startswith(("http://", "https://")):
    raise ImproperlyConfigured("CONSOLE_URL: an address that begins with http:// or https://")
vars().update(env.email_url("EMAIL_URL") if env.str("EMAIL_URL", "") else {"EMAIL_HOST": ""})
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "") or "trainyard@localhost"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", "INFO")},
    "loggers": {
        # Both write addresses, which are secrets.
        "apprise": {"handlers": ["nowhere"], "propagate": False},
        "urllib3": {"handlers": ["nowhere"], "propagate": False},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
    },
}
