// Original file: proto/common.proto


export interface StopProfileRequest {
}

export interface StopProfileRequest__Output {
}
