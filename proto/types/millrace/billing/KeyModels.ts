// Original file: proto/billing.proto


export interface KeyModels {
  'ids'?: (string)[];
}

export interface KeyModels__Output {
  'ids': (string)[];
}
