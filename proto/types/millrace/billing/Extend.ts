// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Extend {
  'reservationId'?: (string);
  'outputTokens'?: (number);
  'deadlineMs'?: (number | string | Long);
}

export interface Extend__Output {
  'reservationId': (string);
  'outputTokens': (number);
  'deadlineMs': (string);
}
