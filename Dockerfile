# The console's programs in one image; docker-compose.yml says which of them a container runs.
FROM python:3.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# proot: the jobs' sandbox where the container may not make namespaces.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap proot tini \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --system --uid 10001 --create-home trainyard \
    && install -d -o trainyard -g trainyard -m 0700 /data

WORKDIR /app
COPY requirements.txt .
RUN pip install --require-hashes -r requirements.txt
COPY . .

ENV DATA_DIR=/data DJANGO_SETTINGS_MODULE=console.settings
# Catalogues and static files belong to the image; the throw-away DATA_DIR keeps build-time keys out of it.
RUN DATA_DIR=/tmp/build DEMO=0 python manage.py compile_catalogues && rm -rf /tmp/build

USER trainyard
VOLUME /data
EXPOSE 8000 8001
# An init that passes signals on and reaps what a job leaves.
ENTRYPOINT ["tini", "--"]
CMD ["granian", "--interface", "wsgi", "console.wsgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--workers", "2", "--blocking-threads", "8", "--no-ws"]
