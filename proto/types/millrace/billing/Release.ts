// Original file: proto/billing.proto


export interface Release {
  'reservationId'?: (string);
}

export interface Release__Output {
  'reservationId': (string);
}
