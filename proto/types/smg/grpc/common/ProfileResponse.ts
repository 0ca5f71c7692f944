// Original file: proto/common.proto


export interface ProfileResponse {
  'success'?: (boolean);
  'message'?: (string);
}

export interface ProfileResponse__Output {
  'success': (boolean);
  'message': (string);
}
