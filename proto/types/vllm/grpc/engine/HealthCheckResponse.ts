// Original file: proto/vllm_engine.proto


export interface HealthCheckResponse {
  'healthy'?: (boolean);
  'message'?: (string);
}

export interface HealthCheckResponse__Output {
  'healthy': (boolean);
  'message': (string);
}
