// Original file: proto/billing.proto

import type { KeyState as _millrace_billing_KeyState, KeyState__Output as _millrace_billing_KeyState__Output } from '../../millrace/billing/KeyState.ts';

export interface ReadKeyResponse {
  'key'?: (_millrace_billing_KeyState | null);
}

export interface ReadKeyResponse__Output {
  'key': (_millrace_billing_KeyState__Output | null);
}
