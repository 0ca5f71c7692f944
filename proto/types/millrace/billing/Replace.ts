// Original file: proto/billing.proto


export interface Replace {
  'reservationId'?: (string);
  'inputTokens'?: (number);
  'outputTokens'?: (number);
}

export interface Replace__Output {
  'reservationId': (string);
  'inputTokens': (number);
  'outputTokens': (number);
}
