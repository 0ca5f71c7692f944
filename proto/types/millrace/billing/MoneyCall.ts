// Original file: proto/billing.proto

import type { Reserve as _millrace_billing_Reserve, Reserve__Output as _millrace_billing_Reserve__Output } from '../../millrace/billing/Reserve.ts';
import type { Replace as _millrace_billing_Replace, Replace__Output as _millrace_billing_Replace__Output } from '../../millrace/billing/Replace.ts';
import type { Release as _millrace_billing_Release, Release__Output as _millrace_billing_Release__Output } from '../../millrace/billing/Release.ts';
import type { Extend as _millrace_billing_Extend, Extend__Output as _millrace_billing_Extend__Output } from '../../millrace/billing/Extend.ts';
import type { Long } from '@grpc/proto-loader';

export interface MoneyCall {
  'seq'?: (number | string | Long);
  'reserve'?: (_millrace_billing_Reserve | null);
  'replace'?: (_millrace_billing_Replace | null);
  'release'?: (_millrace_billing_Release | null);
  'extend'?: (_millrace_billing_Extend | null);
  'call'?: "reserve"|"replace"|"release"|"extend";
}

export interface MoneyCall__Output {
  'seq': (string);
  'reserve'?: (_millrace_billing_Reserve__Output | null);
  'replace'?: (_millrace_billing_Replace__Output | null);
  'release'?: (_millrace_billing_Release__Output | null);
  'extend'?: (_millrace_billing_Extend__Output | null);
  'call'?: "reserve"|"replace"|"release"|"extend";
}
