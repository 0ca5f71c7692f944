// Original file: proto/billing.proto


export interface ReadActivityRequest {
  'keyId'?: (string);
  'from'?: (string);
  'to'?: (string);
  'managementKeyId'?: (string);
}

export interface ReadActivityRequest__Output {
  'keyId': (string);
  'from': (string);
  'to': (string);
  'managementKeyId': (string);
}
