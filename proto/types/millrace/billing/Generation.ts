// Original file: proto/billing.proto

import type { Long } from '@grpc/proto-loader';

export interface _millrace_billing_Generation_Settled {
  'outcome'?: (string);
  'promptTokens'?: (number);
  'cachedTokens'?: (number);
  'completionTokens'?: (number);
  'chargedNano'?: (number | string | Long);
  'settledAtMs'?: (number | string | Long);
}

export interface _millrace_billing_Generation_Settled__Output {
  'outcome': (string);
  'promptTokens': (number);
  'cachedTokens': (number);
  'completionTokens': (number);
  'chargedNano': (string);
  'settledAtMs': (string);
}

export interface _millrace_billing_Generation_Timing {
  'waitedMs'?: (number);
  'ahead'?: (number);
  'firstTokenMs'?: (number);
  'ranMs'?: (number);
  'finishReason'?: (string);
  'errorCode'?: (string);
  'reasoningTokens'?: (number);
  'streamed'?: (boolean);
  '_waitedMs'?: "waitedMs";
  '_ahead'?: "ahead";
  '_firstTokenMs'?: "firstTokenMs";
  '_ranMs'?: "ranMs";
  '_reasoningTokens'?: "reasoningTokens";
  '_streamed'?: "streamed";
}

export interface _millrace_billing_Generation_Timing__Output {
  'waitedMs'?: (number);
  'ahead'?: (number);
  'firstTokenMs'?: (number);
  'ranMs'?: (number);
  'finishReason': (string);
  'errorCode': (string);
  'reasoningTokens'?: (number);
  'streamed'?: (boolean);
  '_waitedMs'?: "waitedMs";
  '_ahead'?: "ahead";
  '_firstTokenMs'?: "firstTokenMs";
  '_ranMs'?: "ranMs";
  '_reasoningTokens'?: "reasoningTokens";
  '_streamed'?: "streamed";
}

export interface Generation {
  'id'?: (string);
  'state'?: (string);
  'model'?: (string);
  'createdAtMs'?: (number | string | Long);
  'holdNano'?: (number | string | Long);
  'clamped'?: (boolean);
  'inputPriceNano'?: (number | string | Long);
  'cachedInputPriceNano'?: (number | string | Long);
  'outputPriceNano'?: (number | string | Long);
  'settled'?: (_millrace_billing_Generation_Settled | null);
  'timing'?: (_millrace_billing_Generation_Timing | null);
}

export interface Generation__Output {
  'id': (string);
  'state': (string);
  'model': (string);
  'createdAtMs': (string);
  'holdNano': (string);
  'clamped': (boolean);
  'inputPriceNano': (string);
  'cachedInputPriceNano': (string);
  'outputPriceNano': (string);
  'settled': (_millrace_billing_Generation_Settled__Output | null);
  'timing': (_millrace_billing_Generation_Timing__Output | null);
}
