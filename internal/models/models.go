// Package models holds facts about models, by their names: prices, context windows, and accepted parameters. All of it is in
// models.json; nothing is known about models that are not there.
package models

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"sync"
)

// Price is the price of a model, in US dollars for a million tokens, at the provider's standard tier. For Google it is the price of
// text and images. A kind of token with a price of zero has no separate price.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
	Long       struct {
		Over   int     `json:"over"` // tokens of a prompt; zero means no surcharge
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
	} `json:"long_prompts"`
}

// Family holds the properties of a group of models.
type Family struct {
	Thinks  bool     `json:"thinks"`
	Silent  bool     `json:"silent"`  // it is known not to think
	Unasked bool     `json:"unasked"` // it thinks by default
	Off     bool     `json:"off"`     // its thinking can be turned off
	Efforts []string `json:"efforts"`
	// Adaptive means that the model can decide by itself how much it thinks.
	Adaptive bool `json:"adaptive"`
	// Budget is how many tokens its thinking may get. Zero means that thinking has no budget.
	Budget struct {
		Least int `json:"least"`
		Most  int `json:"most"`
	} `json:"budget"`
	// NoTemperature means that the model refuses sampling parameters, and OpenAI's also max_tokens.
	NoTemperature bool `json:"no_temperature"`
	// Schema means that the model can follow a JSON schema. Compatible servers may refuse or ignore one, so unknown models are asked for
	// a JSON object, and the schema is in the prompt. Older models of Google support only another dialect.
	Schema bool `json:"schema"`
	// PaidCacheWrites means that input costs more when it is written to the cache.
	PaidCacheWrites bool `json:"paid_cache_writes"`
	// ChecksPrefix means that the model checks that nothing before its thinking has changed.
	ChecksPrefix bool `json:"checks_prefix"`
	// MaxTokens is the length of a reply to request if the API requires a number; all models of the family accept it.
	MaxTokens int `json:"max_tokens"`
	// Longest is the longest possible reply, including thinking. Zero means unknown.
	Longest int `json:"longest"`
}

// Known reports whether anything is known about a model's thinking.
func (f Family) Known() bool { return f.Thinks || f.Silent }

//go:embed models.json
var data []byte

// table is the contents of the file, by providers. In a list, the first row that matches a name applies.
type table struct {
	Prices   map[string][]row[Price]  `json:"prices"`
	Families map[string][]row[Family] `json:"families"`
	Windows  map[string]int           `json:"windows"`
}

type row[T any] struct {
	begins, whole *regexp.Regexp // of names
	content       T
}

func (r *row[T]) UnmarshalJSON(text []byte) error {
	var of struct{ Models string }
	err := json.Unmarshal(text, &of)
	if err == nil {
		r.begins, err = regexp.Compile(`^(?:` + of.Models + `)`)
	}
	if err == nil { // a version of a model has the same price
		r.whole, err = regexp.Compile(`^(?:models/)?(?:` + of.Models + `)(?:-latest|-20\d\d-?\d\d-?\d\d)?$`)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &r.content)
}

// known parses the file once, because configurations are checked often.
var known = sync.OnceValue(func() (t table) {
	if err := json.Unmarshal(data, &t); err != nil {
		panic(err) // the file is part of the program
	}
	return t
})

// ListPrice returns the price of a model, also of a dated version ("gpt-4o-2024-08-06"). It is zero for other models.
func ListPrice(provider, model string) Price {
	for _, r := range known().Prices[provider] {
		if r.whole.MatchString(model) {
			return r.content
		}
	}
	return Price{}
}

// FamilyOf returns the parameters that a model of "openai", "google" or "anthropic" accepts, by the beginning of its name without
// a path. It is zero for unknown models.
func FamilyOf(provider, model string) Family {
	for _, r := range known().Families[provider] {
		if r.begins.MatchString(model) {
			return r.content
		}
	}
	return Family{}
}

// Window returns how many tokens a model accepts as input: the longest prefix of the name in the table applies. It is zero for unknown
// models.
func Window(name string) int {
	for end := len(name); end > 0; end-- {
		if n, ok := known().Windows[name[:end]]; ok {
			return n
		}
	}
	return 0
}
