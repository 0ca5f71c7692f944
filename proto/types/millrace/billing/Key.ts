// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Key {
  'keyId'?: (string);
  'accountId'?: (string);
  'keySha256'?: (Buffer | Uint8Array | string);
  'active'?: (boolean);
  'expiresAtMs'?: (number | string | Long);
}

export interface Key__Output {
  'keyId': (string);
  'accountId': (string);
  'keySha256': (Buffer);
  'active': (boolean);
  'expiresAtMs': (string);
}
