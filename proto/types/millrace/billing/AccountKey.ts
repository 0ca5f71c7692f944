// Original file: proto/billing.proto

import type { KeyModels as _millrace_billing_KeyModels, KeyModels__Output as _millrace_billing_KeyModels__Output } from '../../millrace/billing/KeyModels.ts';
import type { _millrace_billing_KeyState_SpendLimit, _millrace_billing_KeyState_SpendLimit__Output } from '../../millrace/billing/KeyState.ts';
import type { KeyUsage as _millrace_billing_KeyUsage, KeyUsage__Output as _millrace_billing_KeyUsage__Output } from '../../millrace/billing/KeyUsage.ts';
import type { Long } from '@grpc/proto-loader';

export interface AccountKey {
  'keyId'?: (string);
  'label'?: (string);
  'name'?: (string);
  'status'?: (string);
  'createdAtMs'?: (number | string | Long);
  'expiresAtMs'?: (number | string | Long);
  'revokedAtMs'?: (number | string | Long);
  'lastUsedAtMs'?: (number | string | Long);
  'rotatedFrom'?: (string);
  'models'?: (_millrace_billing_KeyModels | null);
  'requestsPerMinute'?: (number);
  'tokensPerMinute'?: (number | string | Long);
  'limit'?: (_millrace_billing_KeyState_SpendLimit | null);
  'usage'?: (_millrace_billing_KeyUsage | null);
}

export interface AccountKey__Output {
  'keyId': (string);
  'label': (string);
  'name': (string);
  'status': (string);
  'createdAtMs': (string);
  'expiresAtMs': (string);
  'revokedAtMs': (string);
  'lastUsedAtMs': (string);
  'rotatedFrom': (string);
  'models': (_millrace_billing_KeyModels__Output | null);
  'requestsPerMinute': (number);
  'tokensPerMinute': (string);
  'limit': (_millrace_billing_KeyState_SpendLimit__Output | null);
  'usage': (_millrace_billing_KeyUsage__Output | null);
}
