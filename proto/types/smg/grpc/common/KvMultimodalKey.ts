// Original file: proto/common.proto

import type { Long } from '@grpc/proto-loader';

export interface KvMultimodalKey {
  'identifier'?: (string);
  'offset'?: (number | string | Long);
}

export interface KvMultimodalKey__Output {
  'identifier': (string);
  'offset': (string);
}
