# DevSan in an image, for CI: the commands devsan and devsan-ci, pytest's plugin, and the CPU build of PyTorch.
#   docker build -t devsan .
#   docker run --rm -v "$PWD:/project" devsan devsan check .
FROM debian:12 AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# The versions are those of the release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-dev python3-venv wget \
    && wget -q -O /etc/apt/trusted.gpg.d/llvm.asc https://apt.llvm.org/llvm-snapshot.gpg.key \
    && echo "deb https://apt.llvm.org/bookworm/ llvm-toolchain-bookworm-22 main" >/etc/apt/sources.list.d/llvm.list \
    && rm -rf /var/lib/apt/lists/*
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
WORKDIR /devsan
COPY . .
# hadolint ignore=DL3008
RUN script/bootstrap --no-build \
    && apt-get install -y --no-install-recommends bolt-22 libbolt-22-dev \
    && cmake --preset release \
    && cmake --build --preset release \
    && .venv/bin/python -m pip wheel --no-build-isolation --no-deps --no-index -w /wheels \
       -Ccmake.define.DEVSAN_FROM_BUILD=/devsan/build/release .

FROM debian:12-slim
# A compiler is for programs with another PyTorch, whose runtime is built on first use, git for `devsan check --diff`.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates g++ git python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
ENV PATH=/opt/devsan/bin:$PATH
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python3 -m venv /opt/devsan \
    && pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0 numpy pytest /wheels/*.whl \
    && devsan doctor
COPY script/ci /usr/local/bin/devsan-ci
WORKDIR /project
CMD ["devsan"]
