// Original file: proto/billing.proto

import type { Generation as _millrace_billing_Generation, Generation__Output as _millrace_billing_Generation__Output } from '../../millrace/billing/Generation.ts';

export interface ReadGenerationResponse {
  'generation'?: (_millrace_billing_Generation | null);
  'archivedMonth'?: (string);
}

export interface ReadGenerationResponse__Output {
  'generation': (_millrace_billing_Generation__Output | null);
  'archivedMonth': (string);
}
