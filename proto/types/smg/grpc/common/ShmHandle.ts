// Original file: proto/common.proto

import type { Long } from '@grpc/proto-loader';

export interface ShmHandle {
  'name'?: (string);
  'offset'?: (number | string | Long);
  'nbytes'?: (number | string | Long);
  'ownerId'?: (string);
}

export interface ShmHandle__Output {
  'name': (string);
  'offset': (string);
  'nbytes': (string);
  'ownerId': (string);
}
