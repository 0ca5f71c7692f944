// Original file: proto/vllm_engine.proto


export interface AbortResponse {
}

export interface AbortResponse__Output {
}
