# One image for web and worker; the commands are those of docs/operations.md.
FROM python:3.12-slim-bookworm AS base
RUN apt-get update \
 && apt-get install -y --no-install-recommends git bubblewrap socat util-linux ripgrep tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 crewdesk \
 && install -d -m 700 -o crewdesk -g crewdesk /data
COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /usr/local/bin/uv
ENV UV_PROJECT_ENVIRONMENT=/opt/venv UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never \
    PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# the SDK's wheel is 178 MB: this layer changes only with the lock file
COPY pyproject.toml uv.lock ./
RUN --mount=type=cache,target=/root/.cache/uv uv sync --frozen --no-dev --extra s3 --compile-bytecode
COPY --chown=root:root . .
ENV CREWDESK_HOME=/data CREWDESK_STATIC_ROOT=/app/staticfiles CREWDESK_STATIC_MANIFEST=1
RUN python -m compileall -q dashboard tasks_app && CREWDESK_HOME=/tmp/build python manage.py collectstatic --no-input --verbosity 0 && rm -rf /tmp/build
USER crewdesk
VOLUME /data
EXPOSE 8400
ENTRYPOINT ["tini", "--"]

FROM base AS web
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "manage.py", "healthcheck", "web"]
CMD ["daphne", "--bind", "0.0.0.0", "--port", "8400", "--websocket-max-message-size", "1048576", "--websocket-max-frame-size", "65536", "--ping-interval", "20", \
     "--ping-timeout", "20", "--application-close-timeout", "5", "--verbosity", "0", "--no-server-name", "dashboard.asgi:application"]

FROM base AS worker
# not tini: agents, who run as its user, could read in its environment all that the worker is given
ENTRYPOINT ["python", "-S", "-m", "tasks_app.first_process"]
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=15s --start-period=30s --retries=3 \
  CMD ["python", "manage.py", "healthcheck", "worker"]
CMD ["python", "-m", "dashboard.worker", "--hostname", "crewdesk-1@%h"]
