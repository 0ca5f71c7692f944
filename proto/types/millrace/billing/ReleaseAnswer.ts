// Original file: proto/billing.proto


export interface ReleaseAnswer {
  'released'?: (boolean);
}

export interface ReleaseAnswer__Output {
  'released': (boolean);
}
