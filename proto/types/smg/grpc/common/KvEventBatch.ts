// Original file: proto/common.proto

import type { KvCacheEvent as _smg_grpc_common_KvCacheEvent, KvCacheEvent__Output as _smg_grpc_common_KvCacheEvent__Output } from '../../../smg/grpc/common/KvCacheEvent.ts';
import type { KvSnapshotChunk as _smg_grpc_common_KvSnapshotChunk, KvSnapshotChunk__Output as _smg_grpc_common_KvSnapshotChunk__Output } from '../../../smg/grpc/common/KvSnapshotChunk.ts';
import type { EngineLoad as _smg_grpc_common_EngineLoad, EngineLoad__Output as _smg_grpc_common_EngineLoad__Output } from '../../../smg/grpc/common/EngineLoad.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvEventBatch {
  'sequenceNumber'?: (number | string | Long);
  'timestamp'?: (number | string);
  'events'?: (_smg_grpc_common_KvCacheEvent)[];
  'dpRank'?: (number);
  'snapshot'?: (_smg_grpc_common_KvSnapshotChunk | null);
  'load'?: (_smg_grpc_common_EngineLoad | null);
  '_dpRank'?: "dpRank";
}

export interface KvEventBatch__Output {
  'sequenceNumber': (string);
  'timestamp': (number);
  'events': (_smg_grpc_common_KvCacheEvent__Output)[];
  'dpRank'?: (number);
  'snapshot': (_smg_grpc_common_KvSnapshotChunk__Output | null);
  'load': (_smg_grpc_common_EngineLoad__Output | null);
  '_dpRank'?: "dpRank";
}
