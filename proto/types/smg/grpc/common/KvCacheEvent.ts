// Original file: proto/common.proto

import type { KvBlocksStored as _smg_grpc_common_KvBlocksStored, KvBlocksStored__Output as _smg_grpc_common_KvBlocksStored__Output } from '../../../smg/grpc/common/KvBlocksStored.ts';
import type { KvBlocksRemoved as _smg_grpc_common_KvBlocksRemoved, KvBlocksRemoved__Output as _smg_grpc_common_KvBlocksRemoved__Output } from '../../../smg/grpc/common/KvBlocksRemoved.ts';
import type { KvCacheCleared as _smg_grpc_common_KvCacheCleared, KvCacheCleared__Output as _smg_grpc_common_KvCacheCleared__Output } from '../../../smg/grpc/common/KvCacheCleared.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvCacheEvent {
  'eventId'?: (number | string | Long);
  'stored'?: (_smg_grpc_common_KvBlocksStored | null);
  'removed'?: (_smg_grpc_common_KvBlocksRemoved | null);
  'cleared'?: (_smg_grpc_common_KvCacheCleared | null);
  'data'?: "stored"|"removed"|"cleared";
}

export interface KvCacheEvent__Output {
  'eventId': (string);
  'stored'?: (_smg_grpc_common_KvBlocksStored__Output | null);
  'removed'?: (_smg_grpc_common_KvBlocksRemoved__Output | null);
  'cleared'?: (_smg_grpc_common_KvCacheCleared__Output | null);
  'data'?: "stored"|"removed"|"cleared";
}
