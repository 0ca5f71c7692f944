// Original file: proto/vllm_engine.proto


export interface KvTransferParams {
  'remoteHost'?: (string);
  'remotePort'?: (number);
}

export interface KvTransferParams__Output {
  'remoteHost': (string);
  'remotePort': (number);
}
