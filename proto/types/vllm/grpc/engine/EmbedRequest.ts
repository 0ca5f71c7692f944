// Original file: proto/vllm_engine.proto

import type { TokenizedInput as _vllm_grpc_engine_TokenizedInput, TokenizedInput__Output as _vllm_grpc_engine_TokenizedInput__Output } from '../../../vllm/grpc/engine/TokenizedInput.ts';

export interface EmbedRequest {
  'requestId'?: (string);
  'tokenized'?: (_vllm_grpc_engine_TokenizedInput | null);
}

export interface EmbedRequest__Output {
  'requestId': (string);
  'tokenized': (_vllm_grpc_engine_TokenizedInput__Output | null);
}
