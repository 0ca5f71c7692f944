// Original file: proto/billing.proto


export interface ListGenerationsRequest {
  'keyId'?: (string);
  'limit'?: (number);
  'cursor'?: (string);
  'managementKeyId'?: (string);
}

export interface ListGenerationsRequest__Output {
  'keyId': (string);
  'limit': (number);
  'cursor': (string);
  'managementKeyId': (string);
}
