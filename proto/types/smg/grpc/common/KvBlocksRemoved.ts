// Original file: proto/common.proto

import type { KvCacheTier as _smg_grpc_common_KvCacheTier, KvCacheTier__Output as _smg_grpc_common_KvCacheTier__Output } from '../../../smg/grpc/common/KvCacheTier.ts';
import type { KvCacheLocality as _smg_grpc_common_KvCacheLocality, KvCacheLocality__Output as _smg_grpc_common_KvCacheLocality__Output } from '../../../smg/grpc/common/KvCacheLocality.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvBlocksRemoved {
  'blockHashes'?: (number | string | Long)[];
  'cacheLevel'?: (number);
  'tier'?: (_smg_grpc_common_KvCacheTier);
  'medium'?: (string);
  'groupIdx'?: (number);
  'locality'?: (_smg_grpc_common_KvCacheLocality);
  'ownership'?: (string);
  '_cacheLevel'?: "cacheLevel";
  '_tier'?: "tier";
  '_medium'?: "medium";
  '_groupIdx'?: "groupIdx";
  '_locality'?: "locality";
  '_ownership'?: "ownership";
}

export interface KvBlocksRemoved__Output {
  'blockHashes': (string)[];
  'cacheLevel'?: (number);
  'tier'?: (_smg_grpc_common_KvCacheTier__Output);
  'medium'?: (string);
  'groupIdx'?: (number);
  'locality'?: (_smg_grpc_common_KvCacheLocality__Output);
  'ownership'?: (string);
  '_cacheLevel'?: "cacheLevel";
  '_tier'?: "tier";
  '_medium'?: "medium";
  '_groupIdx'?: "groupIdx";
  '_locality'?: "locality";
  '_ownership'?: "ownership";
}
