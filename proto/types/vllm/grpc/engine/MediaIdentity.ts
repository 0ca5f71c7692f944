// Original file: proto/vllm_engine.proto

import type { MultimodalInputs as _vllm_grpc_engine_MultimodalInputs, MultimodalInputs__Output as _vllm_grpc_engine_MultimodalInputs__Output } from '../../../vllm/grpc/engine/MultimodalInputs.ts';

export interface MediaIdentity {
  'promptTokenIds'?: (number)[];
  'mmInputs'?: (_vllm_grpc_engine_MultimodalInputs | null);
  'extraMmInputs'?: (_vllm_grpc_engine_MultimodalInputs)[];
}

export interface MediaIdentity__Output {
  'promptTokenIds': (number)[];
  'mmInputs': (_vllm_grpc_engine_MultimodalInputs__Output | null);
  'extraMmInputs': (_vllm_grpc_engine_MultimodalInputs__Output)[];
}
