// Original file: proto/billing.proto


// Original file: proto/billing.proto

export const _millrace_billing_KeyRefusal_Reason = {
  UNSPECIFIED: 'UNSPECIFIED',
  NOT_FOUND: 'NOT_FOUND',
  CONFLICT: 'CONFLICT',
  INVALID: 'INVALID',
} as const;

export type _millrace_billing_KeyRefusal_Reason =
  | 'UNSPECIFIED'
  | 0
  | 'NOT_FOUND'
  | 1
  | 'CONFLICT'
  | 2
  | 'INVALID'
  | 3

export type _millrace_billing_KeyRefusal_Reason__Output = typeof _millrace_billing_KeyRefusal_Reason[keyof typeof _millrace_billing_KeyRefusal_Reason]

export interface KeyRefusal {
  'reason'?: (_millrace_billing_KeyRefusal_Reason);
  'message'?: (string);
  'param'?: (string);
}

export interface KeyRefusal__Output {
  'reason': (_millrace_billing_KeyRefusal_Reason__Output);
  'message': (string);
  'param': (string);
}
