// Original file: proto/billing.proto


export interface ListGenerationsRequest {
  'keyId'?: (string);
  'limit'?: (number);
  'cursor'?: (string);
}

export interface ListGenerationsRequest__Output {
  'keyId': (string);
  'limit': (number);
  'cursor': (string);
}
