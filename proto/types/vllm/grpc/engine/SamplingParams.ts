// Original file: proto/vllm_engine.proto

import type { ChoiceConstraint as _vllm_grpc_engine_ChoiceConstraint, ChoiceConstraint__Output as _vllm_grpc_engine_ChoiceConstraint__Output } from '../../../vllm/grpc/engine/ChoiceConstraint.ts';

export interface SamplingParams {
  'temperature'?: (number | string);
  'topP'?: (number | string);
  'topK'?: (number);
  'minP'?: (number | string);
  'frequencyPenalty'?: (number | string);
  'presencePenalty'?: (number | string);
  'repetitionPenalty'?: (number | string);
  'maxTokens'?: (number);
  'minTokens'?: (number);
  'stop'?: (string)[];
  'stopTokenIds'?: (number)[];
  'skipSpecialTokens'?: (boolean);
  'spacesBetweenSpecialTokens'?: (boolean);
  'ignoreEos'?: (boolean);
  'n'?: (number);
  'jsonSchema'?: (string);
  'regex'?: (string);
  'grammar'?: (string);
  'structuralTag'?: (string);
  'jsonObject'?: (boolean);
  'choice'?: (_vllm_grpc_engine_ChoiceConstraint | null);
  'logprobs'?: (number);
  'promptLogprobs'?: (number);
  'seed'?: (number);
  'includeStopStrInOutput'?: (boolean);
  'logitBias'?: ({[key: number]: number | string});
  'truncatePromptTokens'?: (number);
  'grammarFromFirstToken'?: (boolean);
  '_temperature'?: "temperature";
  '_maxTokens'?: "maxTokens";
  '_logprobs'?: "logprobs";
  '_promptLogprobs'?: "promptLogprobs";
  '_seed'?: "seed";
  '_truncatePromptTokens'?: "truncatePromptTokens";
  'constraint'?: "jsonSchema"|"regex"|"grammar"|"structuralTag"|"jsonObject"|"choice";
}

export interface SamplingParams__Output {
  'temperature'?: (number);
  'topP': (number);
  'topK': (number);
  'minP': (number);
  'frequencyPenalty': (number);
  'presencePenalty': (number);
  'repetitionPenalty': (number);
  'maxTokens'?: (number);
  'minTokens': (number);
  'stop': (string)[];
  'stopTokenIds': (number)[];
  'skipSpecialTokens': (boolean);
  'spacesBetweenSpecialTokens': (boolean);
  'ignoreEos': (boolean);
  'n': (number);
  'jsonSchema'?: (string);
  'regex'?: (string);
  'grammar'?: (string);
  'structuralTag'?: (string);
  'jsonObject'?: (boolean);
  'choice'?: (_vllm_grpc_engine_ChoiceConstraint__Output | null);
  'logprobs'?: (number);
  'promptLogprobs'?: (number);
  'seed'?: (number);
  'includeStopStrInOutput': (boolean);
  'logitBias': ({[key: number]: number});
  'truncatePromptTokens'?: (number);
  'grammarFromFirstToken': (boolean);
  '_temperature'?: "temperature";
  '_maxTokens'?: "maxTokens";
  '_logprobs'?: "logprobs";
  '_promptLogprobs'?: "promptLogprobs";
  '_seed'?: "seed";
  '_truncatePromptTokens'?: "truncatePromptTokens";
  'constraint'?: "jsonSchema"|"regex"|"grammar"|"structuralTag"|"jsonObject"|"choice";
}
