// Original file: proto/billing.proto


export interface AskRequest {
  'operation'?: (string);
  'keyId'?: (string);
  'managementKeyId'?: (string);
  'json'?: (string);
  'asker'?: "keyId"|"managementKeyId";
}

export interface AskRequest__Output {
  'operation': (string);
  'keyId'?: (string);
  'managementKeyId'?: (string);
  'json': (string);
  'asker'?: "keyId"|"managementKeyId";
}
