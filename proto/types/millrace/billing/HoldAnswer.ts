// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

// Original file: proto/billing.proto

export const _millrace_billing_HoldAnswer_Status = {
  UNSPECIFIED: 'UNSPECIFIED',
  GRANTED: 'GRANTED',
  INSUFFICIENT_CREDITS: 'INSUFFICIENT_CREDITS',
  KEY_INVALID: 'KEY_INVALID',
  MODEL_UNKNOWN: 'MODEL_UNKNOWN',
  CONFLICT: 'CONFLICT',
  KEY_LIMIT: 'KEY_LIMIT',
  KEY_RATE: 'KEY_RATE',
} as const;

export type _millrace_billing_HoldAnswer_Status =
  | 'UNSPECIFIED'
  | 0
  | 'GRANTED'
  | 1
  | 'INSUFFICIENT_CREDITS'
  | 2
  | 'KEY_INVALID'
  | 3
  | 'MODEL_UNKNOWN'
  | 4
  | 'CONFLICT'
  | 5
  | 'KEY_LIMIT'
  | 6
  | 'KEY_RATE'
  | 7

export type _millrace_billing_HoldAnswer_Status__Output = typeof _millrace_billing_HoldAnswer_Status[keyof typeof _millrace_billing_HoldAnswer_Status]

export interface HoldAnswer {
  'status'?: (_millrace_billing_HoldAnswer_Status);
  'amountNano'?: (number | string | Long);
  'outputTokens'?: (number);
  'clamped'?: (boolean);
  'inputPriceNano'?: (number | string | Long);
  'cachedInputPriceNano'?: (number | string | Long);
  'outputPriceNano'?: (number | string | Long);
  'availableNano'?: (number | string | Long);
  'heldNano'?: (number | string | Long);
  'receipt'?: (string);
  'retryAfterS'?: (number);
}

export interface HoldAnswer__Output {
  'status': (_millrace_billing_HoldAnswer_Status__Output);
  'amountNano': (string);
  'outputTokens': (number);
  'clamped': (boolean);
  'inputPriceNano': (string);
  'cachedInputPriceNano': (string);
  'outputPriceNano': (string);
  'availableNano': (string);
  'heldNano': (string);
  'receipt': (string);
  'retryAfterS': (number);
}
