// Original file: proto/vllm_engine.proto

import type { OutputLogProbs as _vllm_grpc_engine_OutputLogProbs, OutputLogProbs__Output as _vllm_grpc_engine_OutputLogProbs__Output } from '../../../vllm/grpc/engine/OutputLogProbs.ts';
import type { InputLogProbs as _vllm_grpc_engine_InputLogProbs, InputLogProbs__Output as _vllm_grpc_engine_InputLogProbs__Output } from '../../../vllm/grpc/engine/InputLogProbs.ts';
import type { KvTransferParams as _vllm_grpc_engine_KvTransferParams, KvTransferParams__Output as _vllm_grpc_engine_KvTransferParams__Output } from '../../../vllm/grpc/engine/KvTransferParams.ts';
import type { MediaIdentity as _vllm_grpc_engine_MediaIdentity, MediaIdentity__Output as _vllm_grpc_engine_MediaIdentity__Output } from '../../../vllm/grpc/engine/MediaIdentity.ts';

export interface GenerateComplete {
  'outputIds'?: (number)[];
  'finishReason'?: (string);
  'promptTokens'?: (number);
  'completionTokens'?: (number);
  'cachedTokens'?: (number);
  'outputLogprobs'?: (_vllm_grpc_engine_OutputLogProbs | null);
  'inputLogprobs'?: (_vllm_grpc_engine_InputLogProbs | null);
  'index'?: (number);
  'kvTransferParams'?: (_vllm_grpc_engine_KvTransferParams | null);
  'matchedTokenId'?: (number);
  'matchedStopStr'?: (string);
  'kvTransferParamsJson'?: (string);
  'specAcceptedTokens'?: (number);
  'specDraftTokens'?: (number);
  'mediaIdentity'?: (_vllm_grpc_engine_MediaIdentity | null);
  'matchedStop'?: "matchedTokenId"|"matchedStopStr";
  '_kvTransferParamsJson'?: "kvTransferParamsJson";
}

export interface GenerateComplete__Output {
  'outputIds': (number)[];
  'finishReason': (string);
  'promptTokens': (number);
  'completionTokens': (number);
  'cachedTokens': (number);
  'outputLogprobs': (_vllm_grpc_engine_OutputLogProbs__Output | null);
  'inputLogprobs': (_vllm_grpc_engine_InputLogProbs__Output | null);
  'index': (number);
  'kvTransferParams': (_vllm_grpc_engine_KvTransferParams__Output | null);
  'matchedTokenId'?: (number);
  'matchedStopStr'?: (string);
  'kvTransferParamsJson'?: (string);
  'specAcceptedTokens': (number);
  'specDraftTokens': (number);
  'mediaIdentity': (_vllm_grpc_engine_MediaIdentity__Output | null);
  'matchedStop'?: "matchedTokenId"|"matchedStopStr";
  '_kvTransferParamsJson'?: "kvTransferParamsJson";
}
