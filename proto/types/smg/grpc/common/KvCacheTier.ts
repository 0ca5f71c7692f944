// Original file: proto/common.proto

export const KvCacheTier = {
  KV_CACHE_TIER_UNSPECIFIED: 'KV_CACHE_TIER_UNSPECIFIED',
  KV_CACHE_TIER_DEVICE: 'KV_CACHE_TIER_DEVICE',
  KV_CACHE_TIER_HOST: 'KV_CACHE_TIER_HOST',
  KV_CACHE_TIER_DISK: 'KV_CACHE_TIER_DISK',
  KV_CACHE_TIER_EXTERNAL: 'KV_CACHE_TIER_EXTERNAL',
} as const;

export type KvCacheTier =
  | 'KV_CACHE_TIER_UNSPECIFIED'
  | 0
  | 'KV_CACHE_TIER_DEVICE'
  | 1
  | 'KV_CACHE_TIER_HOST'
  | 2
  | 'KV_CACHE_TIER_DISK'
  | 3
  | 'KV_CACHE_TIER_EXTERNAL'
  | 4

export type KvCacheTier__Output = typeof KvCacheTier[keyof typeof KvCacheTier]
