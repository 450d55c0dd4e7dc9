package look

import (
	"context"
	"fmt"
	"strings"

	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/terminal"
	"github.com/inquest-dev/inquest/internal/system"
	"github.com/inquest-dev/inquest/internal/trust/evidence"
)

// showEvidence prints the evidence of an investigation and how well the report's claims match it.
func showEvidence(ctx context.Context, c *base.CLI, w system.Record) error {
	found, err := c.Client().Evidence(ctx, w)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(found)
	}
	var text strings.Builder
	fmt.Fprintln(&text, found.Summary()+".")
	if len(found.Items) > 0 {
		fmt.Fprintln(&text)
		if _, err := base.PrintFitted(&text, c, "N\tROW\tTOOL\tFOUND BY\tCONFIDENCE\tTEXT", found.Items, evidenceRow); err != nil {
			return err
		}
	}
	if len(found.Claims) > 0 {
		fmt.Fprintln(&text)
		if _, err := base.PrintFitted(&text, c, "CLAIM\tCITES\tVERDICT\tTEXT", found.Claims, claimRow); err != nil {
			return err
		}
	}
	if len(found.Discoveries) > 0 {
		fmt.Fprintln(&text)
		if _, err := base.PrintFitted(&text, c, "FOUND\tTYPE\tROW\tWHERE", found.Discoveries, func(d evidence.Discovery) []any {
			return []any{d.Identifier, d.ItemType, d.Seq, d.Location}
		}); err != nil {
			return err
		}
	}
	for n, one := range found.Pending {
		if n == 0 {
			fmt.Fprintln(&text, "\nNot examined:")
		}
		fmt.Fprintln(&text, "  "+terminal.CleanLine(one))
	}
	return page(c, text.String())
}

func evidenceRow(i evidence.Item) []any {
	text := i.Content
	if i.Location != "" {
		text += " · at " + i.Location
	}
	row := fmt.Sprint(i.Seq)
	if i.Problem != "" {
		text, row = "proves nothing: "+i.Problem+" · "+text, "-"
	}
	sure := "-"
	if !i.Assumed {
		sure = fmt.Sprintf("%.0f %%", i.Confidence*100)
	}
	return []any{fmt.Sprintf("[%d]", i.N), row, i.Tool, i.By, sure, text}
}

func claimRow(claim evidence.Claim) []any {
	text := claim.Text
	for n, one := range claim.Missing {
		if n == 0 {
			text += " · not found:"
		}
		text += fmt.Sprintf(" %q", one)
	}
	return []any{claim.N, fmt.Sprint(claim.Cites), claim.Verdict, text}
}
