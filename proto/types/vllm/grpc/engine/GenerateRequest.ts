// Original file: proto/vllm_engine.proto

import type { TokenizedInput as _vllm_grpc_engine_TokenizedInput, TokenizedInput__Output as _vllm_grpc_engine_TokenizedInput__Output } from '../../../vllm/grpc/engine/TokenizedInput.ts';
import type { SamplingParams as _vllm_grpc_engine_SamplingParams, SamplingParams__Output as _vllm_grpc_engine_SamplingParams__Output } from '../../../vllm/grpc/engine/SamplingParams.ts';
import type { KvTransferParams as _vllm_grpc_engine_KvTransferParams, KvTransferParams__Output as _vllm_grpc_engine_KvTransferParams__Output } from '../../../vllm/grpc/engine/KvTransferParams.ts';
import type { MultimodalInputs as _vllm_grpc_engine_MultimodalInputs, MultimodalInputs__Output as _vllm_grpc_engine_MultimodalInputs__Output } from '../../../vllm/grpc/engine/MultimodalInputs.ts';
import type { MediaRefs as _vllm_grpc_engine_MediaRefs, MediaRefs__Output as _vllm_grpc_engine_MediaRefs__Output } from '../../../vllm/grpc/engine/MediaRefs.ts';

export interface GenerateRequest {
  'requestId'?: (string);
  'tokenized'?: (_vllm_grpc_engine_TokenizedInput | null);
  'text'?: (string);
  'samplingParams'?: (_vllm_grpc_engine_SamplingParams | null);
  'stream'?: (boolean);
  'kvTransferParams'?: (_vllm_grpc_engine_KvTransferParams | null);
  'mmInputs'?: (_vllm_grpc_engine_MultimodalInputs | null);
  'kvTransferParamsJson'?: (string);
  'dataParallelRank'?: (number);
  'mediaRefs'?: (_vllm_grpc_engine_MediaRefs | null);
  'extraMmInputs'?: (_vllm_grpc_engine_MultimodalInputs)[];
  'input'?: "tokenized"|"text";
  '_kvTransferParamsJson'?: "kvTransferParamsJson";
  '_dataParallelRank'?: "dataParallelRank";
}

export interface GenerateRequest__Output {
  'requestId': (string);
  'tokenized'?: (_vllm_grpc_engine_TokenizedInput__Output | null);
  'text'?: (string);
  'samplingParams': (_vllm_grpc_engine_SamplingParams__Output | null);
  'stream': (boolean);
  'kvTransferParams': (_vllm_grpc_engine_KvTransferParams__Output | null);
  'mmInputs': (_vllm_grpc_engine_MultimodalInputs__Output | null);
  'kvTransferParamsJson'?: (string);
  'dataParallelRank'?: (number);
  'mediaRefs': (_vllm_grpc_engine_MediaRefs__Output | null);
  'extraMmInputs': (_vllm_grpc_engine_MultimodalInputs__Output)[];
  'input'?: "tokenized"|"text";
  '_kvTransferParamsJson'?: "kvTransferParamsJson";
  '_dataParallelRank'?: "dataParallelRank";
}
