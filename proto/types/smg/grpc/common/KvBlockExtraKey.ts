// Original file: proto/common.proto

import type { KvMultimodalKey as _smg_grpc_common_KvMultimodalKey, KvMultimodalKey__Output as _smg_grpc_common_KvMultimodalKey__Output } from '../../../smg/grpc/common/KvMultimodalKey.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvBlockExtraKey {
  'text'?: (string);
  'blob'?: (Buffer | Uint8Array | string);
  'number'?: (number | string | Long);
  'multimodal'?: (_smg_grpc_common_KvMultimodalKey | null);
  'key'?: "text"|"blob"|"number"|"multimodal";
}

export interface KvBlockExtraKey__Output {
  'text'?: (string);
  'blob'?: (Buffer);
  'number'?: (string);
  'multimodal'?: (_smg_grpc_common_KvMultimodalKey__Output | null);
  'key'?: "text"|"blob"|"number"|"multimodal";
}
