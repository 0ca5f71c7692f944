// Original file: proto/billing.proto

import type { MoneyCall as _millrace_billing_MoneyCall, MoneyCall__Output as _millrace_billing_MoneyCall__Output } from '../../millrace/billing/MoneyCall.ts';

export interface MoneyCalls {
  'calls'?: (_millrace_billing_MoneyCall)[];
}

export interface MoneyCalls__Output {
  'calls': (_millrace_billing_MoneyCall__Output)[];
}
