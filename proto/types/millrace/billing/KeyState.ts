// Original file: proto/billing.proto

import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from '../../millrace/billing/KeyModels.ts';
import type { KeyUsage as _millrace_billing_KeyUsage, KeyUsage__Output as _millrace_billing_KeyUsage__Output } from '../../millrace/billing/KeyUsage.ts';
import type { Long } from '@grpc/proto-loader';

export interface _millrace_billing_KeyState_SpendLimit {
  'amountNano'?: (number | string | Long);
  'leftNano'?: (number | string | Long);
  'period'?: (string);
}

export interface _millrace_billing_KeyState_SpendLimit__Output {
  'amountNano': (string);
  'leftNano': (string);
  'period': (string);
}

export interface KeyState {
  'label'?: (string);
  'name'?: (string);
  'expiresAtMs'?: (number | string | Long);
  'models'?: (_millrace_billing_KeyModels | null);
  'requestsPerMinute'?: (number);
  'tokensPerMinute'?: (number | string | Long);
  'limit'?: (_millrace_billing_KeyState_SpendLimit | null);
  'usage'?: (_millrace_billing_KeyUsage | null);
  'postedNano'?: (number | string | Long);
  'heldNano'?: (number | string | Long);
  'creditedNano'?: (number | string | Long);
}

export interface KeyState__Output {
  'label': (string);
  'name': (string);
  'expiresAtMs': (string);
  'models': (_millrace_billing_KeyModels__Output | null);
  'requestsPerMinute': (number);
  'tokensPerMinute': (string);
  'limit': (_millrace_billing_KeyState_SpendLimit__Output | null);
  'usage': (_millrace_billing_KeyUsage__Output | null);
  'postedNano': (string);
  'heldNano': (string);
  'creditedNano': (string);
}
