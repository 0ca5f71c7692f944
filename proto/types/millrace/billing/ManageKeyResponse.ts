// Original file: proto/billing.proto

import type { AccountKey as _millrace_billing_AccountKey, AccountKey__Output as _millrace_billing_AccountKey__Output } from '../../millrace/billing/AccountKey.ts';
import type { KeyRefusal as _millrace_billing_KeyRefusal, KeyRefusal__Output as _millrace_billing_KeyRefusal__Output } from '../../millrace/billing/KeyRefusal.ts';

export interface ManageKeyResponse {
  'key'?: (_millrace_billing_AccountKey | null);
  'secret'?: (string);
  'replayed'?: (boolean);
  'refusal'?: (_millrace_billing_KeyRefusal | null);
}

export interface ManageKeyResponse__Output {
  'key': (_millrace_billing_AccountKey__Output | null);
  'secret': (string);
  'replayed': (boolean);
  'refusal': (_millrace_billing_KeyRefusal__Output | null);
}
