// Original file: proto/vllm_engine.proto


export interface HealthCheckRequest {
}

export interface HealthCheckRequest__Output {
}
