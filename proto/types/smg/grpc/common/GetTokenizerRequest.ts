// Original file: proto/common.proto


export interface GetTokenizerRequest {
}

export interface GetTokenizerRequest__Output {
}
