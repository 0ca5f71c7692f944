// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Activity {
  'day'?: (string);
  'model'?: (string);
  'requests'?: (number | string | Long);
  'promptTokens'?: (number | string | Long);
  'cachedTokens'?: (number | string | Long);
  'completionTokens'?: (number | string | Long);
  'chargedNano'?: (number | string | Long);
}

export interface Activity__Output {
  'day': (string);
  'model': (string);
  'requests': (string);
  'promptTokens': (string);
  'cachedTokens': (string);
  'completionTokens': (string);
  'chargedNano': (string);
}
