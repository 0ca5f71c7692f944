// Original file: proto/vllm_engine.proto

import type { OutputLogProbs as _vllm_grpc_engine_OutputLogProbs, OutputLogProbs__Output as _vllm_grpc_engine_OutputLogProbs__Output } from '../../../vllm/grpc/engine/OutputLogProbs.ts';
import type { InputLogProbs as _vllm_grpc_engine_InputLogProbs, InputLogProbs__Output as _vllm_grpc_engine_InputLogProbs__Output } from '../../../vllm/grpc/engine/InputLogProbs.ts';

export interface GenerateStreamChunk {
  'tokenIds'?: (number)[];
  'promptTokens'?: (number);
  'completionTokens'?: (number);
  'cachedTokens'?: (number);
  'outputLogprobs'?: (_vllm_grpc_engine_OutputLogProbs | null);
  'inputLogprobs'?: (_vllm_grpc_engine_InputLogProbs | null);
  'index'?: (number);
}

export interface GenerateStreamChunk__Output {
  'tokenIds': (number)[];
  'promptTokens': (number);
  'completionTokens': (number);
  'cachedTokens': (number);
  'outputLogprobs': (_vllm_grpc_engine_OutputLogProbs__Output | null);
  'inputLogprobs': (_vllm_grpc_engine_InputLogProbs__Output | null);
  'index': (number);
}
