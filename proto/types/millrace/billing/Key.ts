// Original file: proto/billing.proto

import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from '../../millrace/billing/KeyModels.ts';
import type { Long } from '@grpc/proto-loader';

export interface Key {
  'keyId'?: (string);
  'accountId'?: (string);
  'keySha256'?: (Buffer | Uint8Array | string);
  'active'?: (boolean);
  'expiresAtMs'?: (number | string | Long);
  'models'?: (_millrace_billing_KeyModels | null);
}

export interface Key__Output {
  'keyId': (string);
  'accountId': (string);
  'keySha256': (Buffer);
  'active': (boolean);
  'expiresAtMs': (string);
  'models': (_millrace_billing_KeyModels__Output | null);
}
