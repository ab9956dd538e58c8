# Unlatch without a graphics card, as a user without rights: docs/sweeps.md.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
RUN pip install --no-cache-dir build
COPY . .
RUN python -m build --wheel --outdir /wheels .

FROM python:3.11-slim-bookworm
# the goal solver compiles its functions with a C compiler, and is twice as fast with it
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[assets,export,view]"
# any user may write these two folders, so that `docker run --user` works; the `1` lets nobody replace files of others
RUN useradd --create-home --uid 1000 unlatch && mkdir -m 1777 /work /cache
ENV UNLATCH_CACHE_DIR=/cache MPLCONFIGDIR=/cache/matplotlib
USER unlatch
WORKDIR /work
ENTRYPOINT ["unlatch"]
CMD ["--help"]
