// Original file: proto/billing.proto

import type { AccountKey as _millrace_billing_AccountKey, AccountKey__Output as _millrace_billing_AccountKey__Output } from '../../millrace/billing/AccountKey.ts';

export interface ListAccountKeysResponse {
  'keys'?: (_millrace_billing_AccountKey)[];
  'nextCursor'?: (string);
}

export interface ListAccountKeysResponse__Output {
  'keys': (_millrace_billing_AccountKey__Output)[];
  'nextCursor': (string);
}
