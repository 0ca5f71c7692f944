// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Reserve {
  'reservationId'?: (string);
  'keyId'?: (string);
  'model'?: (string);
  'inputTokens'?: (number);
  'outputTokens'?: (number);
  'deadlineMs'?: (number | string | Long);
}

export interface Reserve__Output {
  'reservationId': (string);
  'keyId': (string);
  'model': (string);
  'inputTokens': (number);
  'outputTokens': (number);
  'deadlineMs': (string);
}
