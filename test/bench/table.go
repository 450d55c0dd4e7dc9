package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/template"
)

func (r report) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

const page = `{{.Machine}} · store: {{.Store}} · medians of {{.Rounds}} rounds

| at a time | workload | runs | runs/s | of shape | latency p50 | of shape | p95 |
|--:|:--|--:|--:|--:|--:|--:|--:|
{{range .Rows}}| {{.Concurrency}} | {{.Workload}} | {{.Runs}} | {{printf "%.2f" .Throughput}} | {{ratio .ThroughputRatio}} | {{time .Latency}} | {{ratio .LatencyRatio}} | {{time .Slowest}} |
{{end}}
| at a time | one run of | history events | history | store | worker CPU | server CPU | both, of shape | worker RSS, peak | server RSS, peak |
|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|
{{range .Rows}}| {{.Concurrency}} | {{.Workload}} | {{.Events}} | {{size .HistoryBytes}} | {{size .StoreBytes}} | {{time .WorkerCPU}} | {{time .ServerCPU}} | {{ratio .CPURatio}} | {{size .WorkerMemory}} | {{size .ServerMemory}} |
{{end}}`

func (r report) markdown(w io.Writer) error {
	functions := template.FuncMap{"ratio": ratioText, "size": sizeText, "time": timeText}
	return template.Must(template.New("page").Funcs(functions).Parse(page)).Execute(w, r)
}

func ratioText(ratio float64) string {
	if ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func timeText(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f ms", seconds*1000)
}

func sizeText(bytes int64) string {
	const unit = 1 << 10
	switch {
	case bytes == 0:
		return "–"
	case bytes < 10*unit*unit:
		return fmt.Sprintf("%.1f KB", float64(bytes)/unit)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/unit/unit)
}
