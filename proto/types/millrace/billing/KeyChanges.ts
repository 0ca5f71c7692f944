// Original file: proto/billing.proto

import type { Key as _millrace_billing_Key, Key__Output as _millrace_billing_Key__Output } from '../../millrace/billing/Key.ts';
import type { Long } from '@grpc/proto-loader';

export interface KeyChanges {
  'version'?: (number | string | Long);
  'resync'?: (boolean);
  'keys'?: (_millrace_billing_Key)[];
}

export interface KeyChanges__Output {
  'version': (string);
  'resync': (boolean);
  'keys': (_millrace_billing_Key__Output)[];
}
