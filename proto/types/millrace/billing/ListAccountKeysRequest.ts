// Original file: proto/billing.proto


export interface ListAccountKeysRequest {
  'managementKeyId'?: (string);
  'limit'?: (number);
  'cursor'?: (string);
}

export interface ListAccountKeysRequest__Output {
  'managementKeyId': (string);
  'limit': (number);
  'cursor': (string);
}
