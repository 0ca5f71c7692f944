// Original file: proto/common.proto

import type { KvBlockExtraKey as _smg_grpc_common_KvBlockExtraKey, KvBlockExtraKey__Output as _smg_grpc_common_KvBlockExtraKey__Output } from '../../../smg/grpc/common/KvBlockExtraKey.ts';
import type { Long } from '@grpc/proto-loader';

export interface KvBlock {
  'blockHash'?: (number | string | Long);
  'tokenIds'?: (number)[];
  'blockSize'?: (number);
  'loraId'?: (number | string | Long);
  'cacheLevel'?: (number);
  'extraKeys'?: (_smg_grpc_common_KvBlockExtraKey)[];
  '_loraId'?: "loraId";
  '_cacheLevel'?: "cacheLevel";
}

export interface KvBlock__Output {
  'blockHash': (string);
  'tokenIds': (number)[];
  'blockSize': (number);
  'loraId'?: (string);
  'cacheLevel'?: (number);
  'extraKeys': (_smg_grpc_common_KvBlockExtraKey__Output)[];
  '_loraId'?: "loraId";
  '_cacheLevel'?: "cacheLevel";
}
