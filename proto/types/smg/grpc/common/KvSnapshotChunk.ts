// Original file: proto/common.proto

import type { Long } from '@grpc/proto-loader';

export interface KvSnapshotChunk {
  'index'?: (number);
  'count'?: (number);
  'blocks'?: (number | string | Long);
  'unknownBefore'?: (number | string | Long);
}

export interface KvSnapshotChunk__Output {
  'index': (number);
  'count': (number);
  'blocks': (string);
  'unknownBefore': (string);
}
