// Original file: proto/billing.proto

import type { Activity as _millrace_billing_Activity, Activity__Output as _millrace_billing_Activity__Output } from '../../millrace/billing/Activity.ts';

export interface ReadActivityResponse {
  'days'?: (_millrace_billing_Activity)[];
  'archivedMonth'?: (string);
}

export interface ReadActivityResponse__Output {
  'days': (_millrace_billing_Activity__Output)[];
  'archivedMonth': (string);
}
