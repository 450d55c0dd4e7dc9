package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/inquest-dev/inquest/internal/face/report"
	"github.com/inquest-dev/inquest/internal/system"
)

const (
	resourceBase       = "inquest://investigations/"
	resourceReport     = "/report"
	resourceTranscript = "/transcript"
)

// resources adds the resources that people attach to a chat by hand, and a prompt to begin with.
func (m *server) resources() {
	m.to.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: resourceBase + "{+id}" + resourceReport, Name: "report", Title: "Report of an investigation", MIMEType: "text/markdown",
		Description: "The full report. " + untrusted,
	}, m.resource(resourceReport, func(ctx context.Context, id string) (string, string, error) {
		found, err := do(ctx, m, system.GetInvestigation, system.ByID{ID: id})
		return report.Text(found.Investigation), "text/markdown", err
	}))
	m.to.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: resourceBase + "{+id}" + resourceTranscript, Name: "transcript", Title: "Transcript of an investigation",
		MIMEType:    "text/plain",
		Description: "Messages and tool calls of the agents, with long texts cut. " + untrusted,
	}, m.resource(resourceTranscript, m.transcriptText))
	m.to.AddPrompt(&mcp.Prompt{
		Name: "investigate", Title: "Investigate with Inquest", Description: "Investigate an alert or a question, and report the result",
		Arguments: []*mcp.PromptArgument{
			{Name: "what", Title: "What", Description: "the original alert, or the question", Required: true},
			{Name: "chain", Title: "Chain", Description: "name of the chain to run; absent lets the assistant choose"},
		},
	}, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		chain := "Choose the chain that fits best (list_chains)."
		if name := r.Params.Arguments["chain"]; name != "" {
			chain = "Use the chain " + name + "."
		}
		text := fmt.Sprintf(`Investigate this with Inquest:

%s

%s Start it and follow it with get_investigation (wait 45) until it ends. If anything needs me, show it to me at once.
Then summarise the result in a few sentences: the cause, the evidence for it, open questions and next steps. Tell me which claims of
the report are not verified (get_evidence).`, r.Params.Arguments["what"], chain)
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
	})
}

// resource returns a handler that reads a text of the investigation in the URI.
func (m *server) resource(suffix string, read func(context.Context, string) (text, kind string, err error)) mcp.ResourceHandler {
	return func(ctx context.Context, r *mcp.ReadResourceRequest) (out *mcp.ReadResourceResult, err error) {
		defer m.recovered("read "+suffix, &err)
		ctx, cancel := context.WithTimeout(ctx, system.CallTimeout)
		defer cancel()
		id, err := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, resourceBase), suffix))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		text, kind, err := read(ctx, id)
		if isHidden(err) {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, m.explain(ctx, "read "+suffix, err)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: kind, Text: text}}}, nil
	}
}

const maxTranscript = 200 << 10 // size of a transcript as a resource, in bytes

// transcriptText returns a transcript in readable form.
func (m *server) transcriptText(ctx context.Context, id string) (string, string, error) {
	var text strings.Builder
	for after := int64(0); ; {
		page, err := m.transcriptTool(ctx, nil, transcriptArgs{ID: id, After: after, Limit: 200})
		if err != nil {
			return "", "", err
		}
		for _, e := range page.Entries {
			fmt.Fprintf(&text, "%d %s %s %s", e.Seq, e.At.UTC().Format("15:04:05"), e.Agent, e.Kind)
			for _, c := range e.Calls {
				fmt.Fprintf(&text, " %s %s", c.Name, c.Arguments)
			}
			fmt.Fprintf(&text, "\n%s\n\n", e.Text)
		}
		if after = page.Next; after == 0 {
			return text.String(), "text/plain", nil
		}
		if text.Len() > maxTranscript {
			fmt.Fprintf(&text, "… for more, call get_transcript with after %d\n", after)
			return text.String(), "text/plain", nil
		}
	}
}
