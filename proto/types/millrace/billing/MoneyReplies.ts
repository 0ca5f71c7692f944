// Original file: proto/billing.proto

import type { MoneyReply as _millrace_billing_MoneyReply, MoneyReply__Output as _millrace_billing_MoneyReply__Output } from '../../millrace/billing/MoneyReply.ts';

export interface MoneyReplies {
  'replies'?: (_millrace_billing_MoneyReply)[];
}

export interface MoneyReplies__Output {
  'replies': (_millrace_billing_MoneyReply__Output)[];
}
