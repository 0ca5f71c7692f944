// Original file: proto/billing.proto


export interface ReadKeyRequest {
  'keyId'?: (string);
  'managementKeyId'?: (string);
}

export interface ReadKeyRequest__Output {
  'keyId': (string);
  'managementKeyId': (string);
}
