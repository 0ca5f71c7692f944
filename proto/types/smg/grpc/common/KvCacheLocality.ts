// Original file: proto/common.proto

export const KvCacheLocality = {
  KV_CACHE_LOCALITY_UNSPECIFIED: 'KV_CACHE_LOCALITY_UNSPECIFIED',
  KV_CACHE_LOCALITY_LOCAL: 'KV_CACHE_LOCALITY_LOCAL',
  KV_CACHE_LOCALITY_REMOTE: 'KV_CACHE_LOCALITY_REMOTE',
} as const;

export type KvCacheLocality =
  | 'KV_CACHE_LOCALITY_UNSPECIFIED'
  | 0
  | 'KV_CACHE_LOCALITY_LOCAL'
  | 1
  | 'KV_CACHE_LOCALITY_REMOTE'
  | 2

export type KvCacheLocality__Output = typeof KvCacheLocality[keyof typeof KvCacheLocality]
