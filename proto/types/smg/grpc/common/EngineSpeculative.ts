// Original file: proto/common.proto


export interface EngineSpeculative {
  'acceptLength'?: (number | string);
  'acceptRate'?: (number | string);
}

export interface EngineSpeculative__Output {
  'acceptLength': (number);
  'acceptRate': (number);
}
