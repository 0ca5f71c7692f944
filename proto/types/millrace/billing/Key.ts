// Original file: proto/billing.proto

import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from '../../millrace/billing/KeyModels.ts';
import type { Long } from '@grpc/proto-loader';

export interface _millrace_billing_Key_Shortage {
  'ofLimit'?: (boolean);
  'availableNano'?: (number | string | Long);
  'heldNano'?: (number | string | Long);
}

export interface _millrace_billing_Key_Shortage__Output {
  'ofLimit': (boolean);
  'availableNano': (string);
  'heldNano': (string);
}

export interface Key {
  'keyId'?: (string);
  'accountId'?: (string);
  'keySha256'?: (Buffer | Uint8Array | string);
  'active'?: (boolean);
  'expiresAtMs'?: (number | string | Long);
  'models'?: (_millrace_billing_KeyModels | null);
  'shortage'?: (_millrace_billing_Key_Shortage | null);
}

export interface Key__Output {
  'keyId': (string);
  'accountId': (string);
  'keySha256': (Buffer);
  'active': (boolean);
  'expiresAtMs': (string);
  'models': (_millrace_billing_KeyModels__Output | null);
  'shortage': (_millrace_billing_Key_Shortage__Output | null);
}
