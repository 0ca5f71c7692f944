// Original file: proto/billing.proto

import type { Key as _millrace_billing_Key, Key__Output as _millrace_billing_Key__Output } from '../../millrace/billing/Key.ts';

export interface LookUpKeyResponse {
  'found'?: (boolean);
  'key'?: (_millrace_billing_Key | null);
}

export interface LookUpKeyResponse__Output {
  'found': (boolean);
  'key': (_millrace_billing_Key__Output | null);
}
