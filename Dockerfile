# GPU machines: the wheels of torch and vLLM bring CUDA's libraries; the host needs its driver and the NVIDIA container toolkit.
#     docker build -t rlvr-harness .                                          TRL with vLLM and DeepSpeed
#     docker build -t rlvr-harness:verl --build-arg LOCK=verl-gpu.lock .      veRL with vLLM, without flash-attn: hardware.packing=false
#     docker run --gpus all --shm-size 16g -v $PWD/runs:/work/runs rlvr-harness rlvr run paper=egsw scale=paper
# Not built on the machine that this was written on, which has neither docker nor a GPU.
FROM python:3.11-slim
# hadolint: build tools only, in the version that the distribution has
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends build-essential git && rm -rf /var/lib/apt/lists/*
WORKDIR /work
COPY . /work
ARG LOCK=trl-gpu.lock
RUN pip install --no-cache-dir --no-deps -r requirements/${LOCK} && pip install --no-cache-dir --no-deps -e .
# hadolint: no secret, the switch of the tokenizers library
# hadolint ignore=DL3064
ENV RLVR_HOME=/work/runs TOKENIZERS_PARALLELISM=false
CMD ["rlvr", "--help"]
