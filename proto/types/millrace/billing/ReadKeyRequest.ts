// Original file: proto/billing.proto


export interface ReadKeyRequest {
  'keyId'?: (string);
}

export interface ReadKeyRequest__Output {
  'keyId': (string);
}
