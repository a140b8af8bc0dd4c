"""The settings: one module, the environment decides. docs/operations.md lists every variable; a test compares."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from dashboard import sqlite
from dashboard.settings import env
from tasks_app.domain.budget import DEFAULT_SERVER_USD_A_DAY
from tasks_app.management.sockets import socket_path

BASE_DIR = Path(__file__).resolve().parent.parent.parent
HOME = env.home()
VERSION = "0.1.0"

DEBUG = env.flag("CREWDESK_DEBUG", default=False)
INSPECTABLE = env.flag("CREWDESK_INSPECTABLE", default=False)  # tasks_app/own_memory.py reads it too, before there are settings
SECRET_KEY = env.secret_key(HOME)
ALLOWED_HOSTS = env.words("CREWDESK_HOSTS", "127.0.0.1,localhost,[::1]")
HTTPS = env.flag("CREWDESK_HTTPS", default=False)  # behind a proxy that ends TLS
PROXIES = env.words("CREWDESK_PROXY")  # addresses, networks or names of the proxy in front: dashboard/forwarded.py
ORIGINS = env.words("CREWDESK_ORIGINS")  # exact origins of the pages, e.g. https://desk.example.org; empty: same as Host
CSRF_TRUSTED_ORIGINS = ORIGINS

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "template_partials",
    "channels",
    "axes",
    "tasks_app",
    "dashboard",
]

MIDDLEWARE = [
    "dashboard.security.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.security.SignInRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.uploads.TooLargeMiddleware",
    "dashboard.http.DomainErrorMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.context_processors.desk",
            ],
        },
    }
]

SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",  # DEFERRED gave 2,468 of 4,000 "locked" with 8 processes: stack.md §6
    "timeout": sqlite.WAIT_S,
    "init_command": (
        f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout={sqlite.WAIT_S * 1000};"
        "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-20000; PRAGMA mmap_size=134217728;"
        "PRAGMA checkpoint_fullfsync=1;"  # a Mac's fsync leaves data in the drive's own memory; elsewhere it changes nothing
    ),
}


POOLED = "dashboard.settings.postgres.pooled"
"""Imported only where it is used: an installation on SQLite never loads psycopg."""


def _database() -> dict[str, Any]:
    url = env.text("DATABASE_URL")
    if not url:
        # tests use a file too: an in-memory database knows no WAL and no waiting for a lock
        test = {"NAME": str(HOME / "test.sqlite3")}
        return {
            "ENGINE": sqlite.__name__,
            "NAME": HOME / "crewdesk.sqlite3",
            "OPTIONS": SQLITE_OPTIONS,
            "TEST": test,
        }
    try:
        config: dict[str, Any] = dict(dj_database_url.parse(url))
    except (ValueError, KeyError):
        raise env.unreadable("DATABASE_URL", "postgres://user:password@host:5432/name") from None
    if "sqlite" in config["ENGINE"]:
        return {**config, "ENGINE": sqlite.__name__, "OPTIONS": SQLITE_OPTIONS}
    if config["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured(f"DATABASE_URL begins with {url.partition(':')[0]}://. Only postgres:// and sqlite:// work.")
    most = int(env.number("CREWDESK_DB_POOL", 8, low=1, high=200))
    options = import_string(POOLED)(config.get("OPTIONS", {}), most=most)
    return {**config, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": True, "OPTIONS": options}


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

VALKEY_SOCKET = socket_path(HOME)
_redis = env.text("REDIS_URL")
if _redis and not (re.match(r"^(rediss?|unix)://", _redis) and env.has_parts(_redis)):
    raise env.unreadable("REDIS_URL", "redis://:password@host:6379/0, rediss://… or unix:///path")
REDIS_EMBEDDED = not _redis
REDIS_URL = _redis or f"unix://{VALKEY_SOCKET}?db=0"


def _broker(url: str) -> str:
    """Celery writes a unix socket in its own way, and gets a database of its own on the embedded server."""
    if not url.startswith("unix://"):
        return url
    parts = urlsplit(url)
    number = parse_qs(parts.query).get("db", ["0"])[0] if _redis else "1"
    return f"redis+socket://{parts.path}?virtual_host={number}"


CELERY_BROKER_URL = _broker(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 86400,
    "socket_timeout": 10,
    "socket_keepalive": True,
    "health_check_interval": 10,
}
CELERY_TASK_ACKS_LATE = False  # a message is only a nudge
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = None
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0}
CELERY_TASK_DEFAULT_QUEUE = "crewdesk"
CELERY_WORKER_POOL = "threads"  # the runs of a worker share one supervisor, which a forked child would not have
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "dashboard.views.errors.locked_out"
CSRF_FAILURE_VIEW = "dashboard.views.errors.csrf"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
SESSION_COOKIE_NAME = "crewdesk_session"
CSRF_COOKIE_NAME = "crewdesk_csrf"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31536000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; worker-src 'self'; media-src 'self'"
)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024  # bytes; larger bodies get 413 in words
IMPORT_MB = int(env.number("CREWDESK_IMPORT_MB", 512, low=1, high=32 * 1024))  # MB that an uploaded file of a team may have

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = env.text("CREWDESK_STATIC_ROOT") or str(HOME / "static")
Path(STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # WhiteNoise warns about a folder that is not there
STATIC_MANIFEST = env.flag("CREWDESK_STATIC_MANIFEST", default=False)
WHITENOISE_USE_FINDERS = not STATIC_MANIFEST
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_MANIFEST
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

GRACE_S = env.number("CREWDESK_GRACE_S", 120, low=0, high=86400)
DAY_USD = env.number("CREWDESK_DAY_USD", DEFAULT_SERVER_USD_A_DAY, low=0.01, high=10_000_000)  # all teams together, a day (UTC)
WORKER_SLOTS = int(env.number("CREWDESK_WORKER_SLOTS", 8, low=1, high=500))
CELERY_WORKER_CONCURRENCY = WORKER_SLOTS
CLAUDE_CLI = env.text("CREWDESK_CLAUDE_CLI")  # empty: the one that the SDK's wheel carries
REHEARSE = env.flag("CREWDESK_REHEARSE", default=False)
FOR_EVER, LONGEST_DAYS = 0, 36_500
KEEP_STEPS_DAYS = env.number("CREWDESK_KEEP_STEPS_DAYS", FOR_EVER, low=0, high=LONGEST_DAYS)
KEEP_TRANSCRIPTS_DAYS = env.number("CREWDESK_KEEP_TRANSCRIPTS_DAYS", FOR_EVER, low=0, high=LONGEST_DAYS)
KEEP_EVENTS_DAYS = env.number("CREWDESK_KEEP_EVENTS_DAYS", FOR_EVER, low=0, high=LONGEST_DAYS)
KEEP_SNAPSHOTS_DAYS = env.number("CREWDESK_KEEP_SNAPSHOTS_DAYS", FOR_EVER, low=0, high=LONGEST_DAYS)
BACKUP_URL = env.text("CREWDESK_BACKUP_URL")  # file:///folder, s3://bucket/prefix, … (fsspec); empty: no backups
BACKUP_HOURS = env.number("CREWDESK_BACKUP_HOURS", 24, low=0.1, high=8760)
BACKUP_KEEP = int(env.number("CREWDESK_BACKUP_KEEP", 14, low=1, high=10_000))
ONCALL_URL = env.text("CREWDESK_ONCALL_URL")  # a web hook; a secret: never shown or logged. Empty: nobody is told outside
ONCALL_AFTER_MIN = env.number("CREWDESK_ONCALL_AFTER", 10, low=1, high=10_080)

DEFAULT_EXCEPTION_REPORTER_FILTER = "dashboard.security.HiddenSettings"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"mask": {"()": "dashboard.logs.MaskSecrets"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["mask"]}},
    "root": {"handlers": ["stderr"], "level": env.text("CREWDESK_LOG_LEVEL", "WARNING").upper()},
    "loggers": {
        **{name: {"level": "WARNING"} for name in ("httpx", "httpcore")},  # they would log the web hook's address
        "django": {"handlers": []},  # its own ones write past the mask
        "django.server": {"handlers": [], "propagate": True},
    },
}
