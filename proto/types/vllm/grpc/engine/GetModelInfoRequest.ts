// Original file: proto/vllm_engine.proto


export interface GetModelInfoRequest {
}

export interface GetModelInfoRequest__Output {
}
