// Original file: proto/billing.proto


// Original file: proto/billing.proto

export const _millrace_billing_MoneyFailure_Reason = {
  UNSPECIFIED: 'UNSPECIFIED',
  OVERLOADED: 'OVERLOADED',
  UNAVAILABLE: 'UNAVAILABLE',
  INVALID: 'INVALID',
} as const;

export type _millrace_billing_MoneyFailure_Reason =
  | 'UNSPECIFIED'
  | 0
  | 'OVERLOADED'
  | 1
  | 'UNAVAILABLE'
  | 2
  | 'INVALID'
  | 3

export type _millrace_billing_MoneyFailure_Reason__Output = typeof _millrace_billing_MoneyFailure_Reason[keyof typeof _millrace_billing_MoneyFailure_Reason]

export interface MoneyFailure {
  'reason'?: (_millrace_billing_MoneyFailure_Reason);
  'message'?: (string);
}

export interface MoneyFailure__Output {
  'reason': (_millrace_billing_MoneyFailure_Reason__Output);
  'message': (string);
}
