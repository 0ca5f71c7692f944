// Original file: proto/billing.proto

import type { HoldAnswer as _millrace_billing_HoldAnswer, HoldAnswer__Output as _millrace_billing_HoldAnswer__Output } from '../../millrace/billing/HoldAnswer.ts';
import type { ReleaseAnswer as _millrace_billing_ReleaseAnswer, ReleaseAnswer__Output as _millrace_billing_ReleaseAnswer__Output } from '../../millrace/billing/ReleaseAnswer.ts';
import type { MoneyFailure as _millrace_billing_MoneyFailure, MoneyFailure__Output as _millrace_billing_MoneyFailure__Output } from '../../millrace/billing/MoneyFailure.ts';
import type { Long } from '@grpc/proto-loader';

export interface MoneyReply {
  'seq'?: (number | string | Long);
  'hold'?: (_millrace_billing_HoldAnswer | null);
  'release'?: (_millrace_billing_ReleaseAnswer | null);
  'failure'?: (_millrace_billing_MoneyFailure | null);
  'reply'?: "hold"|"release"|"failure";
}

export interface MoneyReply__Output {
  'seq': (string);
  'hold'?: (_millrace_billing_HoldAnswer__Output | null);
  'release'?: (_millrace_billing_ReleaseAnswer__Output | null);
  'failure'?: (_millrace_billing_MoneyFailure__Output | null);
  'reply'?: "hold"|"release"|"failure";
}
