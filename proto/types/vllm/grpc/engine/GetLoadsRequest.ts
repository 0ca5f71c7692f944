// Original file: proto/vllm_engine.proto


export interface GetLoadsRequest {
  'dpRank'?: (number);
  'include'?: (string)[];
  '_dpRank'?: "dpRank";
}

export interface GetLoadsRequest__Output {
  'dpRank'?: (number);
  'include': (string)[];
  '_dpRank'?: "dpRank";
}
