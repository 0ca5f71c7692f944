// Original file: proto/vllm_engine.proto


export interface GetServerInfoRequest {
}

export interface GetServerInfoRequest__Output {
}
