// Original file: proto/common.proto

import type { Long } from '@grpc/proto-loader';

export interface RemoteTensorHandle {
  'transport'?: (string);
  'descriptor'?: (Buffer | Uint8Array | string);
  'nbytes'?: (number | string | Long);
}

export interface RemoteTensorHandle__Output {
  'transport': (string);
  'descriptor': (Buffer);
  'nbytes': (string);
}
