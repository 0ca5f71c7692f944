// Original file: proto/common.proto

export const Modality = {
  MODALITY_UNSPECIFIED: 'MODALITY_UNSPECIFIED',
  IMAGE: 'IMAGE',
  AUDIO: 'AUDIO',
  VIDEO: 'VIDEO',
} as const;

export type Modality =
  | 'MODALITY_UNSPECIFIED'
  | 0
  | 'IMAGE'
  | 1
  | 'AUDIO'
  | 2
  | 'VIDEO'
  | 3

export type Modality__Output = typeof Modality[keyof typeof Modality]
