// Original file: proto/billing.proto


export interface ReadGenerationRequest {
  'keyId'?: (string);
  'reservationId'?: (string);
  'managementKeyId'?: (string);
}

export interface ReadGenerationRequest__Output {
  'keyId': (string);
  'reservationId': (string);
  'managementKeyId': (string);
}
