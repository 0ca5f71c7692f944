// Original file: proto/common.proto


export interface StartProfileRequest {
  'outputDir'?: (string);
  'startStep'?: (number);
  'numSteps'?: (number);
  'activities'?: (string)[];
  'withStack'?: (boolean);
  'recordShapes'?: (boolean);
  'profileByStage'?: (boolean);
  '_outputDir'?: "outputDir";
  '_startStep'?: "startStep";
  '_numSteps'?: "numSteps";
  '_withStack'?: "withStack";
  '_recordShapes'?: "recordShapes";
}

export interface StartProfileRequest__Output {
  'outputDir'?: (string);
  'startStep'?: (number);
  'numSteps'?: (number);
  'activities': (string)[];
  'withStack'?: (boolean);
  'recordShapes'?: (boolean);
  'profileByStage': (boolean);
  '_outputDir'?: "outputDir";
  '_startStep'?: "startStep";
  '_numSteps'?: "numSteps";
  '_withStack'?: "withStack";
  '_recordShapes'?: "recordShapes";
}
