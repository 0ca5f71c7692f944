// Original file: proto/vllm_engine.proto

import type { InputTokenLogProb as _vllm_grpc_engine_InputTokenLogProb, InputTokenLogProb__Output as _vllm_grpc_engine_InputTokenLogProb__Output } from '../../../vllm/grpc/engine/InputTokenLogProb.ts';
import type { TopLogProbs as _vllm_grpc_engine_TopLogProbs, TopLogProbs__Output as _vllm_grpc_engine_TopLogProbs__Output } from '../../../vllm/grpc/engine/TopLogProbs.ts';

export interface InputLogProbs {
  'tokenLogprobs'?: (_vllm_grpc_engine_InputTokenLogProb)[];
  'tokenIds'?: (number)[];
  'topLogprobs'?: (_vllm_grpc_engine_TopLogProbs)[];
}

export interface InputLogProbs__Output {
  'tokenLogprobs': (_vllm_grpc_engine_InputTokenLogProb__Output)[];
  'tokenIds': (number)[];
  'topLogprobs': (_vllm_grpc_engine_TopLogProbs__Output)[];
}
