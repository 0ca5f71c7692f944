// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface WatchKeysRequest {
  'sinceVersion'?: (number | string | Long);
}

export interface WatchKeysRequest__Output {
  'sinceVersion': (string);
}
