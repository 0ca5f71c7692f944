// Original file: proto/vllm_engine.proto

import type { MediaRef as _vllm_grpc_engine_MediaRef, MediaRef__Output as _vllm_grpc_engine_MediaRef__Output } from '../../../vllm/grpc/engine/MediaRef.ts';

export interface MediaRefs {
  'items'?: (_vllm_grpc_engine_MediaRef)[];
}

export interface MediaRefs__Output {
  'items': (_vllm_grpc_engine_MediaRef__Output)[];
}
