// Original file: proto/common.proto

import type { Long } from '@grpc/proto-loader';

export interface SubscribeKvEventsRequest {
  'startSequenceNumber'?: (number | string | Long);
  'loadRecordsBeforeFirstBatch'?: (boolean);
}

export interface SubscribeKvEventsRequest__Output {
  'startSequenceNumber': (string);
  'loadRecordsBeforeFirstBatch': (boolean);
}
