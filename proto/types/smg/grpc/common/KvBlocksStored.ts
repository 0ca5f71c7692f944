// Original file: proto/common.proto

import type { KvBlock as _smg_grpc_common_KvBlock, KvBlock__Output as _smg_grpc_common_KvBlock__Output } from '../../../smg/grpc/common/KvBlock.ts';
import type { KvCacheTier as _smg_grpc_common_KvCacheTier, KvCacheTier__Output as _smg_grpc_common_KvCacheTier__Output } from '../../../smg/grpc/common/KvCacheTier.ts';
import type { KvCacheLocality as _smg_grpc_common_KvCacheLocality, KvCacheLocality__Output as _smg_grpc_common_KvCacheLocality__Output } from '../../../smg/grpc/common/KvCacheLocality.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvBlocksStored {
  'blocks'?: (_smg_grpc_common_KvBlock)[];
  'parentBlockHash'?: (number | string | Long);
  'tier'?: (_smg_grpc_common_KvCacheTier);
  'medium'?: (string);
  'groupIdx'?: (number);
  'kvCacheSpecKind'?: (string);
  'kvCacheSpecSlidingWindow'?: (number);
  'locality'?: (_smg_grpc_common_KvCacheLocality);
  'ownership'?: (string);
  'sessionId'?: (string);
  'loraName'?: (string);
  'cacheSalt'?: (string);
  '_parentBlockHash'?: "parentBlockHash";
  '_tier'?: "tier";
  '_medium'?: "medium";
  '_groupIdx'?: "groupIdx";
  '_kvCacheSpecKind'?: "kvCacheSpecKind";
  '_kvCacheSpecSlidingWindow'?: "kvCacheSpecSlidingWindow";
  '_locality'?: "locality";
  '_ownership'?: "ownership";
  '_sessionId'?: "sessionId";
  '_loraName'?: "loraName";
  '_cacheSalt'?: "cacheSalt";
}

export interface KvBlocksStored__Output {
  'blocks': (_smg_grpc_common_KvBlock__Output)[];
  'parentBlockHash'?: (string);
  'tier'?: (_smg_grpc_common_KvCacheTier__Output);
  'medium'?: (string);
  'groupIdx'?: (number);
  'kvCacheSpecKind'?: (string);
  'kvCacheSpecSlidingWindow'?: (number);
  'locality'?: (_smg_grpc_common_KvCacheLocality__Output);
  'ownership'?: (string);
  'sessionId'?: (string);
  'loraName'?: (string);
  'cacheSalt'?: (string);
  '_parentBlockHash'?: "parentBlockHash";
  '_tier'?: "tier";
  '_medium'?: "medium";
  '_groupIdx'?: "groupIdx";
  '_kvCacheSpecKind'?: "kvCacheSpecKind";
  '_kvCacheSpecSlidingWindow'?: "kvCacheSpecSlidingWindow";
  '_locality'?: "locality";
  '_ownership'?: "ownership";
  '_sessionId'?: "sessionId";
  '_loraName'?: "loraName";
  '_cacheSalt'?: "cacheSalt";
}
