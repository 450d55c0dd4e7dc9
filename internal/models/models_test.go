package models

import "testing"

func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	for provider, rows := range known().Prices {
		for _, r := range rows {
			p := r.content
			if p.Input <= 0 || p.Output <= p.Input || p.CacheRead >= p.Input || p.Long.Over > 0 && (p.Long.Input <= 1 || p.Long.Output <= 1) {
				t.Errorf("%s %s: %+v", provider, r.whole, p)
			}
		}
	}
	for provider, rows := range known().Families {
		for _, r := range rows {
			f := r.content
			if f.Thinks == f.Silent || f.Budget.Least > f.Budget.Most ||
				f.Silent && (len(f.Efforts) > 0 || f.Off || f.Unasked || f.Budget.Most > 0) {
				t.Errorf("%s %s: %+v", provider, r.begins, f)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := ListPrice("anthropic", "claude-sonnet-4-5-20250929"); got.Output != 15 {
		t.Errorf("price %+v", got)
	}
	if got := ListPrice("openai", "gpt-4o-mini-tts"); got != (Price{}) {
		t.Errorf("price of an unlisted model: %+v", got)
	}
	if got := FamilyOf("openai", "gpt-5.6-luna"); !got.Off || !got.PaidCacheWrites {
		t.Errorf("family %+v", got)
	}
	if got := FamilyOf("openai", "llama3.1"); got.Known() || got.Schema {
		t.Errorf("family of an unknown model: %+v", got)
	}
	if got := Window("gpt-5-chat-latest"); got != 128_000 {
		t.Errorf("window %d", got)
	}
}
