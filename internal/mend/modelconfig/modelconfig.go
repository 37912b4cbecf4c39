// Package modelconfig finds the model that the user configured: a flag, the environment, or one
// file. There is none unless it is configured.
//
//	modelconfig.go   Config: what was found, and the model
//	load.go          Load: flag, environment and file, in this order
//	file.go          the file model.yaml
//	key.go           which key is sent to which URL
package modelconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/llm"
)

// The providers.
const (
	openAI    = "openai"
	anthropic = "anthropic"
	gemini    = "gemini"
	sampling  = "sampling"
)

// Defaults of the budget.
const (
	DefaultPerMinute = 30
	DefaultMaxInput  = 128 << 10
)

// Config is where a model is and how it is used. It prints without its key.
type Config struct {
	Provider string // openai, anthropic, gemini or sampling
	Name     string
	URL      string // the base URL
	// Timeout limits a question, including retries.
	Timeout   time.Duration
	PerMinute int // questions
	MaxInput  int // bytes of a question
	Prices    llm.Prices
	// Warnings are for the user, such as a key that is sent without encryption.
	Warnings []string

	key     secret
	sources sources
}

// secret is a key. It never prints.
type secret string

func (s secret) String() string               { return redact.Redacted }
func (s secret) GoString() string             { return redact.Redacted }
func (s secret) MarshalText() ([]byte, error) { return []byte(redact.Redacted), nil }

// sources say where each setting comes from.
type sources struct{ model, url, key, timeout, budget, prices string }

// String returns the model as in GAUZE_MODEL.
func (c Config) String() string {
	if c.Name == "" {
		return c.Provider
	}
	return c.Provider + ":" + c.Name
}

// GoString keeps %#v from printing the fields.
func (c Config) GoString() string { return c.String() }

// Official reports whether the model is on the provider's own host.
func (c Config) Official() bool {
	at, err := url.Parse(c.URL)
	return err == nil && c.official(at)
}

// KeyVariable returns the variable to set the key with: the one that it comes from, if any.
func (c Config) KeyVariable() string {
	if slices.Contains(providers[c.Provider].keys, c.sources.key) {
		return c.sources.key
	}
	return keyVariable
}

// Sampling reports whether the model is that of the connected MCP client.
func (c Config) Sampling() bool { return c.Provider == sampling }

// Open returns the model within its budget. It does not connect.
func (c Config) Open() (llm.Model, error) {
	open := map[string]func(llm.Options) (llm.Model, error){openAI: llm.OpenAI, anthropic: llm.Anthropic, gemini: llm.Gemini}[c.Provider]
	switch {
	case c.Sampling():
		return nil, errors.New("the sampling model requires a connected MCP client that supports sampling: use it with gauze run")
	case open == nil:
		return nil, fmt.Errorf("no model is configured")
	}
	model, err := open(llm.Options{URL: c.URL, Key: string(c.key), Model: c.Name, Timeout: c.Timeout, Prices: c.Prices})
	if err != nil {
		return nil, err
	}
	return llm.Limit(model, c.PerMinute, c.MaxInput), nil
}

// OpenSampling returns the model of a connected client, within the budget and the timeout. create
// is as for llm.Sampling.
func (c Config) OpenSampling(create func(context.Context, json.RawMessage) (json.RawMessage, error)) llm.Model {
	return llm.Limit(timed{llm.Sampling(create), c.Timeout}, c.PerMinute, c.MaxInput)
}

// timed is a model with a timeout.
type timed struct {
	llm.Model
	timeout time.Duration
}

func (t timed) Ask(ctx context.Context, q llm.Question) (llm.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return t.Model.Ask(ctx, q)
}

// Setting is one setting and where it comes from.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source,omitempty"`
}

// Describe returns the settings in the order in which they are shown. It never contains the key.
func (c Config) Describe() []Setting {
	list := []Setting{{"model", redact.Quote(c.String()), c.sources.model}}
	if !c.Sampling() {
		list = append(list, Setting{"url", redact.Quote(c.URL), c.sources.url}, c.describeKey())
	}
	list = append(list, Setting{"timeout", c.Timeout.String(), c.sources.timeout},
		Setting{"budget", fmt.Sprintf("%d requests per minute, each up to %d KB", c.PerMinute, c.MaxInput>>10), c.sources.budget})
	if c.Prices != (llm.Prices{}) {
		list = append(list, Setting{"prices", fmt.Sprintf("$%g per million input tokens, $%g per million output tokens", c.Prices.Input, c.Prices.Output), c.sources.prices})
	}
	return list
}

func (c Config) describeKey() Setting {
	if c.key == "" {
		return Setting{"key", "none", c.sources.key}
	}
	return Setting{"key", "found, not shown", c.sources.key}
}
