// Original file: proto/common.proto


export interface EngineLora {
  'slotsUsed'?: (number);
  'slotsTotal'?: (number);
  'utilization'?: (number | string);
}

export interface EngineLora__Output {
  'slotsUsed': (number);
  'slotsTotal': (number);
  'utilization': (number);
}
