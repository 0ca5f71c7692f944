// Original file: proto/vllm_engine.proto

import type { GenerateStreamChunk as _vllm_grpc_engine_GenerateStreamChunk, GenerateStreamChunk__Output as _vllm_grpc_engine_GenerateStreamChunk__Output } from '../../../vllm/grpc/engine/GenerateStreamChunk.ts';
import type { GenerateComplete as _vllm_grpc_engine_GenerateComplete, GenerateComplete__Output as _vllm_grpc_engine_GenerateComplete__Output } from '../../../vllm/grpc/engine/GenerateComplete.ts';

export interface GenerateResponse {
  'chunk'?: (_vllm_grpc_engine_GenerateStreamChunk | null);
  'complete'?: (_vllm_grpc_engine_GenerateComplete | null);
  'response'?: "chunk"|"complete";
}

export interface GenerateResponse__Output {
  'chunk'?: (_vllm_grpc_engine_GenerateStreamChunk__Output | null);
  'complete'?: (_vllm_grpc_engine_GenerateComplete__Output | null);
  'response'?: "chunk"|"complete";
}
