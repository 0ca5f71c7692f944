// Original file: proto/vllm_engine.proto

import type { ShmHandle as _smg_grpc_common_ShmHandle, ShmHandle__Output as _smg_grpc_common_ShmHandle__Output } from '../../../smg/grpc/common/ShmHandle.ts';
import type { RemoteTensorHandle as _smg_grpc_common_RemoteTensorHandle, RemoteTensorHandle__Output as _smg_grpc_common_RemoteTensorHandle__Output } from '../../../smg/grpc/common/RemoteTensorHandle.ts';

export interface TensorData {
  'inline'?: (Buffer | Uint8Array | string);
  'shape'?: (number)[];
  'dtype'?: (string);
  'shm'?: (_smg_grpc_common_ShmHandle | null);
  'remote'?: (_smg_grpc_common_RemoteTensorHandle | null);
  'payload'?: "inline"|"shm"|"remote";
}

export interface TensorData__Output {
  'inline'?: (Buffer);
  'shape': (number)[];
  'dtype': (string);
  'shm'?: (_smg_grpc_common_ShmHandle__Output | null);
  'remote'?: (_smg_grpc_common_RemoteTensorHandle__Output | null);
  'payload'?: "inline"|"shm"|"remote";
}
