// Original file: proto/vllm_engine.proto

import type { TopLogProbs as _vllm_grpc_engine_TopLogProbs, TopLogProbs__Output as _vllm_grpc_engine_TopLogProbs__Output } from '../../../vllm/grpc/engine/TopLogProbs.ts';

export interface OutputLogProbs {
  'tokenLogprobs'?: (number | string)[];
  'tokenIds'?: (number)[];
  'topLogprobs'?: (_vllm_grpc_engine_TopLogProbs)[];
}

export interface OutputLogProbs__Output {
  'tokenLogprobs': (number)[];
  'tokenIds': (number)[];
  'topLogprobs': (_vllm_grpc_engine_TopLogProbs__Output)[];
}
