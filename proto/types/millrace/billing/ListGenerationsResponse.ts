// Original file: proto/billing.proto

import type { Generation as _millrace_billing_Generation, Generation__Output as _millrace_billing_Generation__Output } from '../../millrace/billing/Generation.ts';

export interface ListGenerationsResponse {
  'generations'?: (_millrace_billing_Generation)[];
  'nextCursor'?: (string);
}

export interface ListGenerationsResponse__Output {
  'generations': (_millrace_billing_Generation__Output)[];
  'nextCursor': (string);
}
