// Original file: proto/vllm_engine.proto

import type { SchedulerLoad as _vllm_grpc_engine_SchedulerLoad, SchedulerLoad__Output as _vllm_grpc_engine_SchedulerLoad__Output } from '../../../vllm/grpc/engine/SchedulerLoad.ts';

export interface GetLoadsResponse {
  'timestamp'?: (string);
  'version'?: (string);
  'dpRankCount'?: (number);
  'loads'?: (_vllm_grpc_engine_SchedulerLoad)[];
}

export interface GetLoadsResponse__Output {
  'timestamp': (string);
  'version': (string);
  'dpRankCount': (number);
  'loads': (_vllm_grpc_engine_SchedulerLoad__Output)[];
}
