{{/* The fields of a cron expression: name, bounds, names of values, and a pattern of the other texts that croner accepts. */}}
{{- define "millrace.cronFields" -}}
{{- toJson (list
  (dict "name" "minute" "least" 0 "most" 59 "names" list "more" "")
  (dict "name" "hour" "least" 0 "most" 23 "names" list "more" "")
  (dict "name" "day of month" "least" 1 "most" 31 "names" list "more" "(?i)^(l|lw|[0-9]{1,2}w)$")
  (dict "name" "month" "least" 1 "most" 12 "names" (list "jan" "feb" "mar" "apr" "may" "jun" "jul" "aug" "sep" "oct" "nov" "dec") "more" "")
  (dict "name" "day of week" "least" 0 "most" 7 "names" (list "sun" "mon" "tue" "wed" "thu" "fri" "sat") "more" "(?i)^[0-7](l|#[1-5])$")) }}
{{- end }}

{{/* Returns why the scaler would refuse a cron expression of five fields at its start, or an empty text. */}}
{{- define "millrace.cronProblem" -}}
{{- $texts := regexSplit " +" . -1 }}
{{- $problems := list }}
{{- range $i, $field := include "millrace.cronFields" . | fromJsonArray }}
{{- $least := int $field.least }}
{{- $most := int $field.most }}
{{- range $given := splitList "," (index $texts $i) }}
{{- $part := $given }}
{{- /* In croner a range may end with Sunday. */}}
{{- if eq $field.name "day of week" }}{{ $part = regexReplaceAll "(?i)-sun" $part "-7" }}{{ end }}
{{- range $number, $name := $field.names }}
{{- $part = regexReplaceAll (printf "(?i)%s" $name) $part (toString (add $least $number)) }}
{{- end }}
{{- if regexMatch "^[0-9]+(-[0-9]+)?(/[0-9]+)?$" $part }}
{{- $step := splitList "/" $part }}
{{- $ends := list }}
{{- range splitList "-" (first $step) }}{{ $ends = append $ends (regexReplaceAll "^0+([0-9])" . "${1}" | int) }}{{ end }}
{{- range $ends }}
{{- if or (lt . $least) (gt . $most) }}{{ $problems = append $problems (printf "%s: %s is not within %d and %d" $field.name $given $least $most) }}{{ end }}
{{- end }}
{{- if gt (first $ends) (last $ends) }}
{{- $problems = append $problems (printf "%s: %s ends before it begins; name both parts with a comma" $field.name $given) }}
{{- end }}
{{- if and (gt (len $step) 1) (or (eq (len $ends) 1) (regexMatch "^0*$" (last $step))) }}
{{- $problems = append $problems (printf "%s: %s: a step needs a range or *, and is above 0" $field.name $given) }}
{{- end }}
{{- else if not (or (regexMatch "^\\*(/0*[1-9][0-9]?)?$" $part) (and $field.more (regexMatch $field.more $part))) }}
{{- $problems = append $problems (printf "%s: %s is not understood" $field.name $given) }}
{{- end }}
{{- end }}
{{- end }}
{{- join "; " (uniq $problems) }}
{{- end }}
