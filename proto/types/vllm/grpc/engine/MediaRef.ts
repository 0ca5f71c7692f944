// Original file: proto/vllm_engine.proto

import type { Modality as _smg_grpc_common_Modality, Modality__Output as _smg_grpc_common_Modality__Output } from '../../../smg/grpc/common/Modality.ts';

export interface MediaRef {
  'modality'?: (_smg_grpc_common_Modality);
  'url'?: (string);
}

export interface MediaRef__Output {
  'modality': (_smg_grpc_common_Modality__Output);
  'url': (string);
}
