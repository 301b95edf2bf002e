#!/bin/sh
# Runs the benches on a bare x86 machine without network, from wheels: bench/remote.sh WHEELS OUTPUT [SECONDS]. Ends within SECONDS (default 520).
set -u
wheels=$1 out=$2 budget=${3:-520}
python=${PYTHON:-python3}
cd "$(dirname "$0")" || exit
"$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target /tmp/site "$wheels"/*.whl || exit
export PYTHONPATH=/tmp/site CUDA_VISIBLE_DEVICES="" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
lscpu > "$out/lscpu.txt"
"$python" -c 'import torch, codetta.backend; x = torch.randn(8, 8); f = torch.compile(torch.nn.Linear(8, 8), backend="codetta"); torch.no_grad().__enter__(); print("codetta works:", f(x).shape)' || exit
timeout $((budget * 55 / 100)) "$python" linear.py --epilogues bias,gelu,softmax --rivals eager,inductor,max-autotune,max-autotune-frozen,onnxruntime \
  --jobs 8 --warm 6 --rounds 5 --patience 60 --budget $((budget * 50 / 100)) --json "$out/linear.json" --log "$out/linear.log" 2>&1 | tee "$out/linear.txt"
timeout $((budget * 44 / 100)) "$python" models.py --rivals eager,inductor --jobs 6 --warm 3 --rounds 5 --patience 90 --extras call,busy \
  --budget $((budget * 36 / 100)) --json "$out/models.json" --log "$out/models.log" 2>&1 | tee "$out/models.txt"
exit 0
