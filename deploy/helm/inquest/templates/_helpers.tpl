{{- define "inquest.name" -}}
{{- $name := ternary .Release.Name (printf "%s-inquest" .Release.Name) (contains "inquest" .Release.Name) -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "inquest.labels" -}}
app.kubernetes.io/name: inquest
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "inquest.selector" -}}
app.kubernetes.io/name: inquest
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The settings of all roles by name, as YAML: those of .Values.worker, replaced key by key by the role's own. */}}
{{- define "inquest.roles" -}}
{{- $roles := dict -}}
{{- range $name, $own := .Values.roles -}}
{{- $role := deepCopy $.Values.worker -}}
{{- range $key, $value := $own -}}{{- $_ := set $role $key $value -}}{{- end -}}
{{- $_ := set $roles $name $role -}}
{{- end -}}
{{- toYaml $roles -}}
{{- end -}}

{{/* The ConfigMap with the configuration. Empty means that there is none. */}}
{{- define "inquest.configMap" -}}
{{- if .Values.config.existingConfigMap -}}
{{- .Values.config.existingConfigMap -}}
{{- else if .Values.config.files -}}
{{- include "inquest.name" . }}-config
{{- end -}}
{{- end -}}
