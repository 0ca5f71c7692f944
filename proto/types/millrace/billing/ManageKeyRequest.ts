// Original file: proto/billing.proto

import type { KeySettings as _millrace_billing_KeySettings, KeySettings__Output as _millrace_billing_KeySettings__Output } from '../../millrace/billing/KeySettings.ts';

export interface _millrace_billing_ManageKeyRequest_Read {
}

export interface _millrace_billing_ManageKeyRequest_Read__Output {
}

export interface _millrace_billing_ManageKeyRequest_Revoke {
}

export interface _millrace_billing_ManageKeyRequest_Revoke__Output {
}

export interface _millrace_billing_ManageKeyRequest_Rotate {
  'overlapSeconds'?: (number);
}

export interface _millrace_billing_ManageKeyRequest_Rotate__Output {
  'overlapSeconds': (number);
}

export interface ManageKeyRequest {
  'managementKeyId'?: (string);
  'keyId'?: (string);
  'idempotencyKey'?: (string);
  'read'?: (_millrace_billing_ManageKeyRequest_Read | null);
  'create'?: (_millrace_billing_KeySettings | null);
  'change'?: (_millrace_billing_KeySettings | null);
  'rotate'?: (_millrace_billing_ManageKeyRequest_Rotate | null);
  'revoke'?: (_millrace_billing_ManageKeyRequest_Revoke | null);
  'act'?: "read"|"create"|"change"|"rotate"|"revoke";
}

export interface ManageKeyRequest__Output {
  'managementKeyId': (string);
  'keyId': (string);
  'idempotencyKey': (string);
  'read'?: (_millrace_billing_ManageKeyRequest_Read__Output | null);
  'create'?: (_millrace_billing_KeySettings__Output | null);
  'change'?: (_millrace_billing_KeySettings__Output | null);
  'rotate'?: (_millrace_billing_ManageKeyRequest_Rotate__Output | null);
  'revoke'?: (_millrace_billing_ManageKeyRequest_Revoke__Output | null);
  'act'?: "read"|"create"|"change"|"rotate"|"revoke";
}
