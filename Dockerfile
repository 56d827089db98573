# DevSan in an image, for CI: the commands devsan and devsan-ci, pytest's plugin, and the CPU build of PyTorch.
#   docker build -t devsan .
#   docker run --rm -v "$PWD:/project" devsan devsan check .
# --build-arg PIP_EXTRA_INDEX_URL=URL names a package index with PyTorch's CPU builds, where pip's own has those for CUDA.
# docs/dependencies.md tells how what is pinned here is updated.
FROM debian:12@sha256:813017f3d62be4b5891a7acca6a01bdcd4b8513daa81b1ab99d3a50385b26931 AS build
ARG PIP_EXTRA_INDEX_URL
WORKDIR /devsan
COPY . .
# The versions are those of the release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-dev python3-venv \
    && script/bootstrap --no-build \
    && apt-get install -y --no-install-recommends bolt-22 libbolt-22-dev \
    && cmake --preset release \
    && cmake --build --preset release \
    && .venv/bin/python -m pip wheel --no-build-isolation --no-deps --no-index -w /wheels \
       -Ccmake.define.DEVSAN_FROM_BUILD=/devsan/build/release .

FROM debian:12-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241
ARG PIP_EXTRA_INDEX_URL
# A compiler is for programs with another PyTorch, whose runtime is built on first use, git for `devsan check --diff`.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ git python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ENV PATH=/opt/devsan/bin:$PATH
RUN --mount=type=bind,source=script/lib/pins,target=/pins --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python3 -m venv /opt/devsan \
    && pip install --no-cache-dir --require-hashes -r /pins/image.txt \
    && pip install --no-cache-dir --no-index --no-deps /wheels/*.whl \
    && devsan doctor
COPY script/ci /usr/local/bin/devsan-ci
WORKDIR /project
CMD ["devsan"]
