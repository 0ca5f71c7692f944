// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface KeyUsage {
  'totalNano'?: (number | string | Long);
  'dayNano'?: (number | string | Long);
  'weekNano'?: (number | string | Long);
  'monthNano'?: (number | string | Long);
}

export interface KeyUsage__Output {
  'totalNano': (string);
  'dayNano': (string);
  'weekNano': (string);
  'monthNano': (string);
}
