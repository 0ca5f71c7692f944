// Original file: proto/billing.proto


export interface LookUpKeyRequest {
  'keySha256'?: (Buffer | Uint8Array | string);
}

export interface LookUpKeyRequest__Output {
  'keySha256': (Buffer);
}
