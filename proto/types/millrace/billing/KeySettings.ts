// Original file: proto/billing.proto

import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from '../../millrace/billing/KeyModels.ts';
import type { Long } from '@grpc/proto-loader';

export interface KeySettings {
  'name'?: (string);
  'expiresAtMs'?: (number | string | Long);
  'models'?: (_millrace_billing_KeyModels | null);
  'limitNano'?: (number | string | Long);
  'limitPeriod'?: (string);
  'requestsPerMinute'?: (number);
  'tokensPerMinute'?: (number | string | Long);
  'disabled'?: (boolean);
  '_name'?: "name";
  '_expiresAtMs'?: "expiresAtMs";
  '_limitNano'?: "limitNano";
  '_limitPeriod'?: "limitPeriod";
  '_requestsPerMinute'?: "requestsPerMinute";
  '_tokensPerMinute'?: "tokensPerMinute";
  '_disabled'?: "disabled";
}

export interface KeySettings__Output {
  'name'?: (string);
  'expiresAtMs'?: (string);
  'models': (_millrace_billing_KeyModels__Output | null);
  'limitNano'?: (string);
  'limitPeriod'?: (string);
  'requestsPerMinute'?: (number);
  'tokensPerMinute'?: (string);
  'disabled'?: (boolean);
  '_name'?: "name";
  '_expiresAtMs'?: "expiresAtMs";
  '_limitNano'?: "limitNano";
  '_limitPeriod'?: "limitPeriod";
  '_requestsPerMinute'?: "requestsPerMinute";
  '_tokensPerMinute'?: "tokensPerMinute";
  '_disabled'?: "disabled";
}
