// Original file: proto/externalscaler.proto


export interface IsActiveResponse {
  'result'?: (boolean);
}

export interface IsActiveResponse__Output {
  'result': (boolean);
}
