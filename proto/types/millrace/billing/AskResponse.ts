// Original file: proto/billing.proto


export interface _millrace_billing_AskResponse_Refusal {
  'code'?: (string);
  'message'?: (string);
  'param'?: (string);
}

export interface _millrace_billing_AskResponse_Refusal__Output {
  'code': (string);
  'message': (string);
  'param': (string);
}

export interface AskResponse {
  'json'?: (string);
  'refusal'?: (_millrace_billing_AskResponse_Refusal | null);
  'answer'?: "json"|"refusal";
}

export interface AskResponse__Output {
  'json'?: (string);
  'refusal'?: (_millrace_billing_AskResponse_Refusal__Output | null);
  'answer'?: "json"|"refusal";
}
